"""Speaks Ollama's own interface, which can be told how much a model reads; otherwise it cuts long prompts silently."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.text import one_line
from gitnexus.prompts.chat import LARGEST, ChatQuestion, ChatReply, Hear, ModelToolCall
from gitnexus.prompts.http import ModelRequest, RetryLater, bearer_header, stream_answer
from gitnexus.prompts.openai_chat import (
    BROKE_OFF,
    function_tools,
    list_of,
    parse_arguments,
    parse_object,
    split_lines,
    token_count,
)
from gitnexus.prompts.settings import ModelEndpoint

_CONTEXT_TOKENS = 32_768
_MOST_CALLS = 64


class OllamaChat:
    """A server that answers at `/api/chat`, one JSON value in a line."""

    def __init__(self, endpoint: ModelEndpoint, key: str) -> None:
        self._endpoint, self._key = endpoint, key

    def ask(self, question: ChatQuestion, hear: Hear | None) -> ChatReply:
        """Return the model's next answer. Raises: RetryLater, RefusedRequest, Failed."""
        options = {"num_ctx": self._endpoint.context_tokens or _CONTEXT_TOKENS}
        options |= {"num_predict": self._endpoint.max_tokens} if self._endpoint.max_tokens else {}
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": _messages(question),
            "stream": True,
            "options": options,
        }
        if question.tools and question.may_call:  # it has no other way to say that none may be called
            body["tools"] = function_tools(question.tools)
        url = f"{self._endpoint.url.rstrip('/').removesuffix('/v1')}/api/chat"
        request = ModelRequest(
            url, body, bearer_header(self._key), question.seconds, LARGEST, self._endpoint.is_loopback
        )
        parts: list[Mapping[str, Any]] = []
        last: Mapping[str, Any] | None = None
        for line in split_lines(stream_answer(request)):
            if not line.strip():
                continue
            chunk = parse_object(line)
            if error := chunk.get("error"):
                raise RetryLater(f"the model's server broke off: {one_line(str(error), 200)}", said=str(error))
            message = chunk.get("message")
            if isinstance(message, dict):
                parts.append(message)
                if hear is not None and isinstance(text := message.get("content"), str) and text:
                    hear(text)
            if chunk.get("done") is True:
                last = chunk
        if last is None:
            raise RetryLater(BROKE_OFF)
        return _reply_of_parts(parts, last)


def _messages(question: ChatQuestion) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [dict(one) for one in question.messages]
    for turn in question.turns:
        found.append(turn.reply.native)
        found += [
            {"role": "tool", "tool_name": call.name, "content": result.text}
            for call, result in zip(turn.reply.calls, turn.results, strict=True)
        ]
    return found


def _reply_of_parts(parts: list[Mapping[str, Any]], last: Mapping[str, Any]) -> ChatReply:
    text = "".join(one["content"] for one in parts if isinstance(one.get("content"), str))
    rows = [call for one in parts for call in list_of(one, "tool_calls")][:_MOST_CALLS]
    calls = []
    for at, row in enumerate(rows):
        function = row.get("function")
        function = function if isinstance(function, dict) else {}
        calls.append(
            ModelToolCall(f"call_{at}", str(function.get("name", "")), parse_arguments(function.get("arguments")))
        )
    native = {"role": "assistant", "content": text, **({"tool_calls": rows} if rows else {})}
    counts = [last.get(name) for name in ("prompt_eval_count", "eval_count")]
    known = any(type(one) is int for one in counts)
    return ChatReply(
        text,
        tuple(calls),
        str(last.get("done_reason") or "stop"),
        tokens_in=token_count(counts[0]) if known else None,
        tokens_out=token_count(counts[1]) if known else None,
        native=native,
    )
