"""A run whose model is asked by each interface: it looks, it answers, and whatever its server does, it ends clearly."""

import json
from pathlib import Path
from typing import get_args

import pytest

from gitnexus.prompts.settings import Interface
from tests.conftest import Nexus
from tests.prompts.stub import calling, served
from tests.runs.workflow.test_model_tools import DONE, events_of, set_model

LOOK = calling(("repo_search", {"query": "total"}), ("repo_read_file", {"path": "code.txt"}))
# Importing the libraries of two of them takes seconds.
SLOW = [pytest.param(one, marks=pytest.mark.slow) if one != "openai" else one for one in get_args(Interface)]


@pytest.mark.parametrize("interface", SLOW)
def test_a_model_looks_and_answers_by_each_interface(nexus: Nexus, project: Path, interface: Interface) -> None:
    with served(LOOK, "cut:" + json.dumps(DONE), DONE, speaks=interface) as stub:
        set_model(project, stub.url, interface=interface)
        told = json.loads(nexus("run", "/exec correct the total", "--json").stdout)
        run = told["run"]["id"]

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("patch", "waiting")]
    assert [event.body["tool"] for event in events_of(project, run, "tool.called")] == ["repo.search", "repo.read_file"]
    assert len(stub.asked) == 3
    assert "total = 1" in json.dumps(stub.asked[2])
    said = [event.body["text"] for event in events_of(project, run, "agent.progress") if event.actor == "model"]
    assert any("summary: it is 2" in text for text in said)
    verified = nexus("replay", run, "--verify")
    assert verified.returncode == 0
    assert "and 2 calls of tools by models" in verified.stderr


@pytest.mark.parametrize("interface", SLOW)
@pytest.mark.parametrize(
    ("manner", "why"),
    [
        ("flood:10", "the model's answer is larger than 2 MiB"),
        ("status:401", "the model's server does not accept this key (401)"),
    ],
)
def test_what_does_not_get_better_ends_the_step_at_once(
    nexus: Nexus, project: Path, interface: Interface, manner: str, why: str
) -> None:
    with served(manner, speaks=interface) as stub:
        set_model(project, stub.url, interface=interface)
        told = json.loads(nexus("run", "/exec correct the total", "--json").stdout)

    assert (told["run"]["status"], told["actions"], len(stub.asked)) == ("failed", [], 1)
    assert events_of(project, told["run"]["id"], "node.failed")[0].body["why"].startswith(why)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manner", "why"),
    [
        ("cut:It stands somewhere", "the answer broke off before its end"),
        ("garbage", "the answer broke off"),
        ("drip", "the model did not answer in 1 s"),
        ("status:500", "the model's server answered 500"),
    ],
)
def test_what_may_get_better_is_tried_again_with_pauses_and_then_ends(
    nexus: Nexus, project: Path, manner: str, why: str
) -> None:
    with served(manner) as stub:
        set_model(project, stub.url, seconds=1)
        told = json.loads(nexus("run", "/exec correct the total", "--json").stdout)

    assert (told["run"]["status"], told["actions"], len(stub.asked)) == ("failed", [], 4)
    failed = events_of(project, told["run"]["id"], "node.failed")[0].body["why"]
    assert failed.startswith(f"ExecStep got no answer that can be used in 4 tries: {why}")
