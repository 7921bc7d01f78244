"""What was said with a model is recorded whole, and going through it again gives the same calls and answers."""

import contextlib
import copy
import json
from typing import Any

import pytest

from gitnexus.base.errors import Failed, VerificationFailed
from gitnexus.prompts import FUNCTIONS, Prompter
from gitnexus.prompts.chat import ModelToolCall, PromptSession, ToolOffer, ToolResult
from gitnexus.prompts.exchange import replay_exchange
from gitnexus.prompts.settings import PromptSettings, parse_prompt_settings
from tests.prompts.stub import Stub, calling, served

GOOD = {"question": "q", "summary": "so", "claims": [], "constraints": [], "unresolved": []}


class Tools:
    """Two tools; one fails."""

    sources: tuple[str, ...] = ()
    offers = (ToolOffer("read", "", {"type": "object"}), ToolOffer("fail", "", {"type": "object"}))

    def call(self, call: ModelToolCall) -> ToolResult:
        return ToolResult(f"{call.name} {json.dumps(call.arguments)}", ok=call.name != "fail")

    def why_over(self, tokens: int, usd: float | None) -> str:
        return ""


def record(stub: Stub, **settings: Any) -> dict[str, Any]:
    kept: list[Any] = []
    found: PromptSettings = parse_prompt_settings({"endpoint": {"url": stub.url, "model": "m"}, **settings})
    session = PromptSession(tools=Tools(), hear=lambda text: None, record=kept.append)
    prompter = Prompter(found, sleep=lambda seconds: None)
    with contextlib.suppress(Failed):
        prompter.call("Research", {"question": "q"}, FUNCTIONS["Research"].output, session=session)
    return dict(json.loads(json.dumps(kept[0])))


LOOKS = calling(("read", {"path": "a"}), ("fail", {}), ("read", {"path": "a"}), ("nothing", {"x": 1}), text="I look.")


@pytest.mark.parametrize(
    ("manners", "settings", "calls", "answers"),
    [
        ((GOOD,), {}, 0, 1),
        ((LOOKS, GOOD), {}, 4, 1),
        ((LOOKS, "text:no", LOOKS, "status:500", GOOD), {}, 8, 2),
        ((LOOKS, LOOKS, LOOKS, LOOKS, LOOKS), {"tools": {"calls": 3}, "retries": 0}, 12, 0),
        ((LOOKS, "status:500"), {"retries": 1}, 4, 0),
        ((LOOKS, "empty", "length", GOOD), {}, 4, 3),
        ((calling(*[("read", {"n": n}) for n in range(20)]), GOOD), {}, 20, 1),
    ],
)
def test_an_exchange_leads_to_the_same_calls_and_answers_again(
    manners: Any, settings: dict[str, Any], calls: int, answers: int
) -> None:
    with served(*manners) as stub:
        exchange = record(stub, **settings)
    again = replay_exchange(exchange)

    assert (len(again.calls), again.answers) == (calls, answers)


def test_tools_are_called_by_either_way_of_asking() -> None:
    with served(LOOKS, GOOD) as stub:
        exchange = record(stub, via="pydantic-ai")

    assert [one["name"] for one in exchange["turns"][0]["calls"]] == ["read", "fail", "read", "nothing"]
    assert len(replay_exchange(exchange).calls) == 4
    assert "tools" in stub.asked[0]


def test_an_exchange_that_was_interrupted_has_the_calls_that_were_made() -> None:
    class Interrupted(Tools):
        made = 0

        def call(self, call: ModelToolCall) -> ToolResult:
            if self.made == 2:
                raise KeyboardInterrupt
            self.made += 1
            return super().call(call)

    kept: list[Any] = []
    with served(LOOKS) as stub:
        session = PromptSession(tools=Interrupted(), record=kept.append)
        settings = parse_prompt_settings({"endpoint": {"url": stub.url, "model": "m"}})
        with pytest.raises(KeyboardInterrupt):
            Prompter(settings).call("Research", {"question": "q"}, FUNCTIONS["Research"].output, session=session)

    assert [name for name, _, _ in replay_exchange(json.loads(json.dumps(kept[0]))).calls] == ["read", "fail"]


def test_an_exchange_that_was_changed_does_not_hold() -> None:
    with served(LOOKS, GOOD) as stub:
        exchange = record(stub)
    more, other = copy.deepcopy(exchange), copy.deepcopy(exchange)
    more["turns"].insert(1, {**exchange["turns"][1], "calls": [{"id": "x"}]})
    other["turns"][0]["calls"][0].pop("result")

    for changed in (more, other, {}, {"turns": 3, "messages": []}):
        with pytest.raises(VerificationFailed):
            replay_exchange(changed)
