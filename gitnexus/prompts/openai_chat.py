"""Speaks chat completions as OpenAI defines them, which most servers do: streamed, with tools, without a library."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.text import one_line
from gitnexus.prompts.chat import LARGEST, ChatQuestion, ChatReply, Hear, ModelToolCall, ToolOffer
from gitnexus.prompts.http import ModelRequest, RefusedRequest, RetryLater, bearer_header, stream_answer
from gitnexus.prompts.settings import ModelEndpoint

BROKE_OFF = "the answer broke off before its end"
_NO_CHAT = "what the server sent is not the answer of a chat"
_MOST_CALLS = 64
# Thoughts of a model that some servers want back, as they were, with the calls that followed from them.
_THOUGHTS = ("reasoning_content", "reasoning_details")


class OpenAiChat:
    """A server that answers at `/chat/completions`."""

    def __init__(self, endpoint: ModelEndpoint, key: str) -> None:
        self._endpoint, self._key = endpoint, key
        self._streams = True

    def ask(self, question: ChatQuestion, hear: Hear | None) -> ChatReply:
        """Return the model's next answer; streamed if somebody hears it. Raises: RetryLater, RefusedRequest, Failed."""
        stream = self._streams and hear is not None
        try:
            return self._ask(question, hear, stream=stream)
        except RefusedRequest as exc:
            if not (stream and "stream" in exc.said):
                raise
        self._streams = False
        return self._ask(question, hear, stream=False)

    def _ask(self, question: ChatQuestion, hear: Hear | None, *, stream: bool) -> ChatReply:
        body: dict[str, Any] = {"model": self._endpoint.model, "messages": _messages(question), "stream": stream}
        if stream:
            body["stream_options"] = {"include_usage": True}
        if self._endpoint.max_tokens:
            # OpenAI's own newer models refuse the older name, which is the one that other servers know.
            is_openai = (urlsplit(self._endpoint.url).hostname or "").endswith("openai.com")
            body["max_completion_tokens" if is_openai else "max_tokens"] = self._endpoint.max_tokens
        if question.tools:
            body["tools"] = function_tools(question.tools)
            body |= {} if question.may_call else {"tool_choice": "none"}
        request = ModelRequest(
            f"{self._endpoint.url.rstrip('/')}/chat/completions",
            body,
            bearer_header(self._key),
            question.seconds,
            LARGEST,
            self._endpoint.is_loopback,
        )
        reader = _StreamedChat(hear)
        for line in split_lines(stream_answer(request)):
            reader.feed(line)
        reply = reader.reply()
        if hear is not None and not reader.is_streamed:
            hear(reply.text)
        return reply


def function_tools(tools: Sequence[ToolOffer]) -> list[dict[str, Any]]:
    """Return the tools as most servers want them."""
    return [
        {"type": "function", "function": {"name": one.name, "description": one.about, "parameters": dict(one.schema)}}
        for one in tools
    ]


def split_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream, the last one also without its end."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _messages(question: ChatQuestion) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [dict(one) for one in question.messages]
    for turn in question.turns:
        found.append(turn.reply.native)
        found += [
            {"role": "tool", "tool_call_id": call.id, "content": result.text}
            for call, result in zip(turn.reply.calls, turn.results, strict=True)
        ]
    return found


class _StreamedChat:
    """Puts an answer together from the lines of a stream, or from one JSON value if the server does not stream."""

    def __init__(self, hear: Hear | None) -> None:
        self.is_streamed = False
        self._hear = hear
        self._whole: list[bytes] = []
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._thoughts: dict[str, Any] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._ended, self._done = "", False
        self._usage: Any = None

    def feed(self, line: bytes) -> None:
        """Take one line in. Raises: RetryLater, Failed."""
        name, colon, rest = line.partition(b":")
        if colon and not self._whole and name in (b"data", b"event", b"id", b"retry", b""):
            self.is_streamed = True
            data = rest.strip()
            if name == b"data" and data == b"[DONE]":
                self._done = True
            elif name == b"data" and data:
                self._take_chunk(parse_object(data))
        elif line.strip():
            self._whole.append(line)

    def _take_chunk(self, chunk: Mapping[str, Any]) -> None:
        if error := chunk.get("error"):
            message = error.get("message") if isinstance(error, dict) else error
            raise RetryLater(f"the model's server broke off: {one_line(str(message), 200)}")
        self._usage = chunk.get("usage") or self._usage
        for choice in list_of(chunk, "choices")[:1]:
            delta = choice.get("delta")
            self._take_delta(delta if isinstance(delta, dict) else {})
            self._ended = str(choice.get("finish_reason") or self._ended)

    def _take_delta(self, delta: Mapping[str, Any]) -> None:
        if isinstance(text := delta.get("content"), str) and text:
            self._text.append(text)
            if self._hear is not None:
                self._hear(text)
        if isinstance(refusal := delta.get("refusal"), str):
            self._refusal.append(refusal)
        for name in _THOUGHTS:
            if isinstance(part := delta.get(name), str | list):
                self._thoughts[name] = self._thoughts.get(name, type(part)()) + part
        for at, part in enumerate(list_of(delta, "tool_calls")):
            index = part.get("index")
            key = index if type(index) is int else at
            if key not in self._calls and len(self._calls) >= _MOST_CALLS:
                raise Failed(f"the model calls more than {_MOST_CALLS} tools at once")
            _merge_call(self._calls.setdefault(key, {"type": "function", "function": {}}), part)

    def reply(self) -> ChatReply:
        """Return the whole answer. Raises: RetryLater, Failed."""
        if not self.is_streamed:
            return _reply_of_value(parse_object(b"\n".join(self._whole), _NO_CHAT))
        if not self._ended and not self._done:
            raise RetryLater(BROKE_OFF)
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text), **self._thoughts}
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        if self._calls:
            message["tool_calls"] = [self._calls[at] for at in sorted(self._calls)]
        return _reply_of_message(message, self._ended, self._usage)


def _merge_call(call: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Add a part of a call: its arguments come in pieces, everything else stays as it came first."""
    function = part.get("function")
    if isinstance(function, dict):
        for key, value in function.items():
            if key == "arguments" and isinstance(value, str):
                call["function"]["arguments"] = call["function"].get("arguments", "") + value
            elif value:
                call["function"].setdefault(key, value)
    for key, value in part.items():
        if key not in ("function", "index") and value:
            call.setdefault(key, value)


def _reply_of_value(value: Mapping[str, Any]) -> ChatReply:
    choices = list_of(value, "choices")
    message = choices[0].get("message") if choices else None
    if not isinstance(message, dict):
        raise RetryLater(_NO_CHAT)
    return _reply_of_message(message, str(choices[0].get("finish_reason") or ""), value.get("usage"))


def _reply_of_message(message: dict[str, Any], ended: str, usage: Any) -> ChatReply:
    if refusal := message.get("refusal"):
        raise Failed(f"the model refuses: {one_line(str(refusal), 200)}")
    calls = tuple(_call_of(one, at) for at, one in enumerate(list_of(message, "tool_calls")))
    text = message.get("content")
    counts = usage if isinstance(usage, dict) else None
    return ChatReply(
        text if isinstance(text, str) else "",
        calls,
        ended,
        tokens_in=token_count(counts.get("prompt_tokens")) if counts is not None else None,
        tokens_out=token_count(counts.get("completion_tokens")) if counts is not None else None,
        native={
            "role": "assistant",
            "content": text,
            "tool_calls": message.get("tool_calls"),
            **{name: message[name] for name in _THOUGHTS if message.get(name)},
        },
    )


def token_count(value: Any) -> int:
    """Return a count that a server reports, 0 for nonsense."""
    return value if type(value) is int and 0 <= value <= 10**9 else 0


def _call_of(value: Mapping[str, Any], at: int) -> ModelToolCall:
    function = value.get("function")
    function = function if isinstance(function, dict) else {}
    if not value.get("id"):  # some servers leave it out, and all want it back
        value["id"] = f"call_{at}"  # type: ignore[index]
    return ModelToolCall(str(value["id"]), str(function.get("name", "")), parse_arguments(function.get("arguments")))


def parse_arguments(given: Any) -> Mapping[str, Any] | None:
    """Return the arguments of a call, None if they are not a JSON object."""
    if isinstance(given, dict):
        return given
    try:
        value = parse_json(str(given or "{}").encode("utf-8", "surrogatepass"))
    except Invalid:
        return None
    return value if isinstance(value, dict) else None


def parse_object(raw: bytes, wrong: str = BROKE_OFF) -> dict[str, Any]:
    """Return the object that a server sent, or a line of its stream. Raises: RetryLater, saying what is `wrong`."""
    try:
        value = parse_json(raw)
    except Invalid as exc:
        raise RetryLater(wrong) from exc
    if not isinstance(value, dict):
        raise RetryLater(_NO_CHAT)
    return value


def list_of(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects in a field that should be a list of them."""
    found = value.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def chat_body(text: str) -> bytes:
    """Return the body of an answer with only a text, for a library that reads one."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json_document({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
