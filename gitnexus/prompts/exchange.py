"""Writes the conversation of one prompt as JSON, and goes through it again: same loop, recorded answers and results."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gitnexus.base.errors import Failed, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.prompts.chat import (
    ChatQuestion,
    ChatReply,
    ChatTurn,
    Hear,
    ModelToolCall,
    PromptSession,
    ToolOffer,
    ToolResult,
)
from gitnexus.prompts.connection import ModelConnection
from gitnexus.prompts.settings import ModelEndpoint
from gitnexus.prompts.tool_budget import ToolLimits

VERSION = 1
_NO_LIMITS = ToolLimits().changed(calls=10**9, kib=0, seconds=0, tokens=0)


class ReplayedExchange(NamedTuple):
    """The tools that were called, by name and in order, with whether each call was made and whether it succeeded."""

    calls: tuple[tuple[str, bool, bool], ...]
    answers: int


def exchange_as_json(connection: ModelConnection, function: str) -> dict[str, Any]:
    """Return the whole conversation as JSON."""
    return {
        "version": VERSION,
        "function": function,
        "model": connection.endpoint.model,
        "messages": [dict(one) for one in connection.messages],
        "turns": [_turn_as_json(turn) for turn in connection.history],
    }


def _turn_as_json(turn: ChatTurn) -> dict[str, Any]:
    reply = turn.reply
    return {
        "text": reply.text,
        "ended": reply.ended,
        "tokens": [reply.tokens_in, reply.tokens_out],
        "calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments": None if call.arguments is None else dict(call.arguments),
                "ok": result.ok,
                "refused": result.refused,
                "result": result.text,
            }
            for call, result in zip(reply.calls, turn.results, strict=False)
        ],
    }


def replay_exchange(exchange: Mapping[str, Any]) -> ReplayedExchange:
    """Go through a recorded conversation again, and return what was called. Raises: VerificationFailed."""
    try:
        turns = [_parse_turn(one) for one in exchange["turns"]]
        messages = [{"role": str(one["role"]), "content": str(one["content"])} for one in exchange["messages"]]
    except (KeyError, TypeError, ValueError) as exc:
        raise VerificationFailed("a recorded exchange with a model has another form") from exc
    recorded = _RecordedExchange(turns)
    endpoint = ModelEndpoint(model=str(exchange.get("model", "")))
    connection = ModelConnection(endpoint, PromptSession(tools=recorded), _NO_LIMITS, client=recorded)
    while recorded.at < len(turns):
        try:
            connection.ask(messages)
        except VerificationFailed:
            raise
        except Failed:
            continue  # an answer that could not be used, or the end of the record
    if [_turn_as_json(one) for one in connection.history] != exchange["turns"]:
        raise VerificationFailed("a recorded exchange with a model does not lead to the same calls and answers again")
    calls = [
        (call.name, not result.refused, result.ok)
        for turn in turns
        for call, result in zip(turn.reply.calls, turn.results, strict=True)
    ]
    return ReplayedExchange(tuple(calls), sum(not turn.reply.calls for turn in turns))


def _parse_turn(value: Mapping[str, Any]) -> ChatTurn:
    tokens_in, tokens_out = value["tokens"]
    calls = tuple(ModelToolCall(one["id"], one["name"], one["arguments"]) for one in value["calls"])
    results = tuple(ToolResult(one["result"], one["ok"], one["refused"]) for one in value["calls"])
    return ChatTurn(ChatReply(value["text"], calls, value["ended"], tokens_in, tokens_out), results)


class _RecordedExchange:
    """Answers as the model did, and gives what its calls gave."""

    def __init__(self, turns: Sequence[ChatTurn]) -> None:
        self.at = 0
        self._turns = turns
        self._results: list[tuple[ModelToolCall, ToolResult]] = []

    @property
    def offers(self) -> Sequence[ToolOffer]:
        names = dict.fromkeys(call.name for turn in self._turns for call in turn.reply.calls)
        return [ToolOffer(name, "", {}) for name in names]

    @property
    def sources(self) -> Sequence[str]:
        return ()

    def ask(self, question: ChatQuestion, _hear: Hear | None) -> ChatReply:
        if self.at >= len(self._turns):
            raise Failed("the record ends here")
        turn = self._turns[self.at]
        self.at += 1
        self._results = list(zip(turn.reply.calls, turn.results, strict=True))
        return turn.reply

    def call(self, call: ModelToolCall) -> ToolResult:
        for recorded, result in self._results:
            if recorded == call:
                self._results.remove((recorded, result))
                return result
        raise VerificationFailed(f"a recorded exchange with a model has no result of {one_line(call.name, 80)}")

    def why_over(self, _tokens: int, _usd: float | None) -> str:
        return ""
