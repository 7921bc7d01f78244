"""A model of the settings that chooses workflows: set up by one command, asked, and rules where it is of no use."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus
from tests.prompts.stub import served
from tests.rows import few_fast
from tests.workflow.stub import served as served_router

PROMPT = "Improve our onboarding"
ANSWER = {"workflow": "plan", "confidence": 88, "alternatives": ["exec"], "why": "it is large"}
TEXT = json.dumps(ANSWER)


@pytest.mark.parametrize("speaks", few_fast(["openai", "ollama", "anthropic", "gemini"]))
def test_a_model_is_set_for_the_router_by_one_command(project: Path, nexus: Nexus, sealed: Path, speaks: str) -> None:
    with served(f"text:<think>large {{x}}</think>Sure:\n```json\n{TEXT}\n```\nDone.", speaks=speaks) as stub:
        nexus.ok(
            "model", "add", "small", "--provider", "other", "--interface", speaks, "--url", stub.url, "--model", "tiny",
            "--for", "router", "--no-test",
        )  # fmt: skip
        proposal = json.loads(nexus.ok("route", PROMPT, "--json"))

    assert (proposal["source"], proposal["why"]) == ("model", "it is large")
    assert len(stub.asked) == 1
    settings = json.loads((sealed / "nexus" / "settings.json").read_text())
    assert settings["prompts"]["use"] == {"router": "small"}
    assert settings.get("workflow", {}).get("specialists", {}) == {}


def test_the_model_of_the_function_is_asked(project: Path, nexus: Nexus, sealed: Path) -> None:
    with served(f"text:{TEXT}") as stub:
        endpoint = {"url": stub.url, "model": "tiny"}
        (sealed / "nexus" / "settings.json").write_text(
            json.dumps({"prompts": {"functions": {"RoutePrompt": endpoint}}})
        )

        assert json.loads(nexus.ok("route", PROMPT, "--json"))["source"] == "model"
        assert json.loads(nexus.ok("route", PROMPT, "--rules", "--json"))["source"] == "rules"

    assert len(stub.asked) == 1


@pytest.mark.parametrize(
    "manner",
    ["status:500", "status:429", "cut:" + TEXT, "nothing", "garbage", "flood:3", "text:I would plan.",
     'text:{"workflow": "plan"}', "text:" + TEXT.replace('"plan"', '"dance"')],
)  # fmt: skip
def test_the_rules_choose_where_the_model_is_of_no_use(project: Path, nexus: Nexus, sealed: Path, manner: str) -> None:
    with served(manner) as stub:
        value: dict[str, Any] = {"models": {"s": {"url": stub.url, "model": "t", "seconds": 2}}, "use": {"router": "s"}}
        (sealed / "nexus" / "settings.json").write_text(json.dumps({"prompts": value}))
        proposal = json.loads(nexus.ok("route", PROMPT, "--json"))

    assert proposal["source"] == "rules"
    assert proposal["fallback"]


def test_an_answer_among_words_is_read(project: Path, nexus: Nexus, sealed: Path) -> None:
    with served_router(content=f"<think>hm</think>\nHere:\n```json\n{TEXT}\n```\nThat is all.") as stub:
        router = {"url": f"{stub.url}/v1", "model": "tiny"}
        (sealed / "nexus" / "settings.json").write_text(json.dumps({"workflow": {"router": router}}))

        assert json.loads(nexus.ok("route", PROMPT, "--json"))["source"] == "model"
