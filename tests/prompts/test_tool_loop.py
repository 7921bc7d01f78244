"""The loop in which a model calls tools: every limit ends the looking, and then the answer is asked for."""

import time
from typing import Any

import pytest

from gitnexus.base.errors import Failed
from gitnexus.prompts.chat import ChatQuestion, ChatReply, Hear, ModelToolCall, PromptSession, ToolOffer, ToolResult
from gitnexus.prompts.connection import ModelConnection
from gitnexus.prompts.settings import ModelEndpoint
from gitnexus.prompts.tool_budget import ToolBudget, ToolLimits

MESSAGES = [{"role": "user", "content": "Where?"}]


class Eager:
    """A model that calls a tool as long as it may, each time with so many tokens."""

    def __init__(self, at_once: int = 1) -> None:
        self.asked: list[ChatQuestion] = []
        self._at_once = at_once

    def ask(self, question: ChatQuestion, hear: Hear | None) -> ChatReply:
        self.asked.append(question)
        if not question.may_call:
            return ChatReply("done", tokens_in=100, tokens_out=10)
        calls = tuple(ModelToolCall(f"c{at}", "read", {}) for at in range(self._at_once))
        return ChatReply("", calls, tokens_in=100, tokens_out=10)


class Tools:
    offers = (ToolOffer("read", "", {"type": "object"}),)
    sources = ()

    def __init__(self, text: str = "x", most: int = 10**9, usd: float = 1e9) -> None:
        self.called = 0
        self._text, self._most, self._usd = text, most, usd

    def call(self, call: ModelToolCall) -> ToolResult:
        self.called += 1
        return ToolResult(self._text)

    def why_over(self, tokens: int, usd: float | None) -> str:
        if usd is not None and usd > self._usd:
            return "the money is used up"
        return "the tokens are used up" if tokens > self._most else ""


def converse(
    tools: Tools, client: Eager | None = None, deadline: float | None = None, **limits: Any
) -> ModelConnection:
    endpoint = ModelEndpoint(url="http://127.0.0.1:9/v1", model="m", usd_per_million_in=1.0, usd_per_million_out=1.0)
    session = PromptSession(tools=tools, deadline=deadline)
    connection = ModelConnection(endpoint, session, ToolLimits().changed(**limits), client or Eager())
    assert connection.ask(MESSAGES) == "done"
    return connection


@pytest.mark.parametrize(
    ("tools", "limits", "calls"),
    [
        (Tools(), {"calls": 5}, 5),
        (Tools("x" * 1024), {"kib": 3}, 3),
        (Tools("ü" * 2048), {"kib": 3}, 1),
        (Tools(), {"tokens": 330}, 2),
        (Tools(most=400), {}, 3),
        (Tools(usd=0.000400), {}, 3),
        (Tools(), {"calls": 0}, 0),
    ],
)
def test_a_limit_ends_the_looking(tools: Tools, limits: dict[str, int], calls: int) -> None:
    client = Eager()
    if limits.get("calls") == 0:
        with pytest.raises(Failed):
            converse(tools, _NoTools(), **limits)
    else:
        converse(tools, client, **limits)
        assert client.asked[-1].may_call is False

    assert tools.called == calls


class _NoTools(Eager):
    def ask(self, question: ChatQuestion, hear: Hear | None) -> ChatReply:
        assert question.tools == ()
        raise Failed("asked without tools")


def test_time_ends_the_looking() -> None:
    now = [0.0]
    budget = ToolBudget(ToolLimits(seconds=10), lambda: now[0])

    before = budget.why_over(0)
    now[0] = 10.0

    assert (before, budget.why_over(0)) == ("", "10 seconds were used")


def test_a_step_whose_time_is_over_asks_nobody() -> None:
    client = Eager()
    with pytest.raises(Failed, match="the time for this step is used up"):
        converse(Tools(), client, deadline=time.monotonic() - 1)

    assert client.asked == []


def test_a_result_is_cut_to_what_may_still_be_read() -> None:
    budget = ToolBudget(ToolLimits(kib=1))

    first, second = budget.fit("a" * 1000), budget.fit("b" * 1000)

    assert first == "a" * 1000
    assert second == "b" * 24 + "\n(the rest is cut: no more may be read)"


def test_of_many_calls_at_once_some_are_made() -> None:
    tools = Tools()
    connection = converse(tools, Eager(at_once=30), calls=20)

    results = connection.history[0].results
    assert tools.called == 20
    assert [one.refused for one in results[16:]] == ["at most 16 calls are made at once; call it again"] * 14
