"""A model that looks before it answers: tools of the gateway in a loop, each call judged, counted and logged."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import VerificationFailed
from gitnexus.events.model import Event
from gitnexus.runs.open_run import open_run
from gitnexus.runs.workflow.replay import replay_model_exchanges
from tests.conftest import Nexus, run_git, trust
from tests.prompts.stub import Stub, calling, served
from tests.runs.workflow.test_workflow import opened

POLICY = '---\nversion: 1\nallow:\n  - run: ["grep", "**"]\ndeny:\n  - read: ["secret/**"]\n---\n'
BLOCK = "code.txt\n<<<<<<< SEARCH\ntotal = 1\n=======\ntotal = 2\n>>>>>>> REPLACE\n"
DONE = {
    "status": "done",
    "summary": "it is 2",
    "actions": [{"kind": "patch", "summary": "make it 2", "diff": BLOCK}],
}
FOUND = {
    "question": "q",
    "summary": "It is in code.txt.",
    "claims": [{"text": "it is there", "citations": ["file:code.txt#L2"], "confidence": 90}],
}


def set_model(
    project: Path, url: str, role: str = "executor", interface: str = "openai", seconds: int = 20, **prompts: Any
) -> None:
    (project / "code.txt").write_text("first line\ntotal = 1\nlast line\n")
    (project / "secret").mkdir(exist_ok=True)
    (project / "secret" / "plan.txt").write_text("total secret\n")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "begin")
    endpoint = {"url": url, "model": "m", "seconds": seconds, "interface": interface}
    settings = {"workflow": {"specialists": {role: "model"}}, "prompts": {"endpoint": endpoint, **prompts}}
    (project / ".nexus" / "settings.json").write_text(json.dumps(settings))
    (project / ".nexus" / "policy.md").write_text(POLICY)
    trust(project)


def events_of(project: Path, run: str, kind: str) -> list[Event]:
    with opened(project) as state:
        return [event for event in open_run(state, run).events() if event.kind == kind]


def results(stub: Stub, at: int) -> list[str]:
    """What the model was told of its calls in a request."""
    return [one["content"] for one in stub.asked[at]["messages"] if one["role"] == "tool"]


def test_a_model_reads_searches_and_compares_before_it_proposes(nexus: Nexus, project: Path) -> None:
    looks = calling(
        ("repo_list_tree", {}),
        ("repo_search", {"query": "total"}),
        ("repo_read_file", {"path": "code.txt", "offset": 2, "limit": 1}),
        ("git_diff", {}),
    )
    with served(looks, DONE) as stub:
        set_model(project, stub.url)
        told = json.loads(nexus("run", "/exec correct the total", "--json").stdout)
        run = told["run"]["id"]

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("patch", "waiting")]
    listed, hits, lines, diff = results(stub, 1)
    assert '"path": "code.txt"' in listed
    assert "secret" not in listed
    assert '"line": 2, "text": "total = 1"' in hits
    assert "total secret" not in hits
    assert "\ntotal = 1\n>>> " in lines
    assert '"more": false' in diff
    assert [one["function"]["name"] for one in stub.asked[0]["tools"]] == [
        "repo_list_tree", "repo_search", "repo_read_file", "git_diff", "tests_run",
    ]  # fmt: skip
    called = [event.body for event in events_of(project, run, "tool.called")]
    assert [(one["tool"], one["ok"], one["number"]) for one in called] == [
        ("repo.list_tree", True, 1),
        ("repo.search", True, 2),
        ("repo.read_file", True, 3),
        ("git.diff", True, 4),
    ]
    row = next(one for one in json.loads(nexus.ok("metrics", "--json"))["metrics"] if one["adapter"] == "model")
    assert row["toolCalls"] == {"answered": 4, "refused": 0}
    assert row["tokens"] == {"input": 200, "output": 40}
    assert nexus("replay", run, "--verify").returncode == 0


def test_a_log_that_tells_of_other_calls_than_the_exchange_does_not_hold(nexus: Nexus, project: Path) -> None:
    with served(calling(("repo_list_tree", {}), ("git_diff", {})), DONE) as stub:
        set_model(project, stub.url)
        run = json.loads(nexus("run", "/exec correct the total", "--json").stdout)["run"]["id"]
    with opened(project) as state:
        one = open_run(state, run)
        events = list(one.events())
        calls = [event for event in events if event.kind == "tool.called"]

        assert replay_model_exchanges(events, one.artifacts.read) == 2
        with pytest.raises(VerificationFailed, match="tells of other calls of tools than the log"):
            replay_model_exchanges([event for event in events if event is not calls[1]], one.artifacts.read)

    assert "and 2 calls of tools by models: the same state" in nexus("replay", run, "--verify").stderr


def test_a_denied_read_and_a_command_that_nobody_allowed_are_told_and_not_done(nexus: Nexus, project: Path) -> None:
    looks = calling(
        ("repo_read_file", {"path": "secret/plan.txt"}),
        ("repo_read_file", {"path": "../outside"}),
        ("repo_read_file", {"path": ".env"}),
        ("tests_run", {"argv": ["touch", "made"], "approval": "x"}),
        ("tests_run", {"argv": ["grep", "-c", "total", "code.txt"]}),
        ("rm_all", {}),
        ("repo_search", {"query": 3}),
    )
    with served(looks, DONE) as stub:
        set_model(project, stub.url)
        told = json.loads(nexus("run", "/exec correct the total", "--json").stdout)
        run = told["run"]["id"]

    denied, outside, credentials, asked, allowed, unknown, wrong = results(stub, 1)
    assert "not done: secret/plan.txt may not be read" in denied
    assert "not done: '../outside' is refused" in outside
    assert "not done: .env may not be read" in credentials
    assert "not done: a person has to approve this first" in asked
    assert '"ok": true' in allowed
    assert unknown.startswith("not done: there is no such tool; there are: repo_list_tree")
    assert "query should be text" in wrong
    called = [event.body for event in events_of(project, run, "tool.called")]
    assert [one.get("error", "") for one in called] == [
        "E_DENIED", "E_VALIDATION_FAILED", "E_DENIED", "E_APPROVAL_NEEDED", "", "E_VALIDATION_FAILED",
    ]  # fmt: skip
    # What was carried out is an action with its whole trail; what was not is none that waits for ever.
    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("command", "executed"), ("patch", "waiting")]
    assert nexus("replay", run, "--verify").returncode == 0


def test_limits_end_the_looking_and_not_the_work(nexus: Nexus, project: Path) -> None:
    look = calling(("repo_list_tree", {}), ("repo_list_tree", {}))
    with served(look, look, DONE) as stub:
        set_model(project, stub.url, tools={"calls": 3})
        told = json.loads(nexus("run", "/exec correct the total", "--json").stdout)

    assert [one["kind"] for one in told["actions"]] == ["patch"]
    assert [one["content"][:27] for one in stub.asked[2]["messages"] if one["role"] == "tool"][3] == (
        "not done: 3 calls were made"
    )
    assert [one.get("tool_choice") for one in stub.asked] == [None, None, "none"]


def test_a_model_that_never_stops_looking_is_ended(nexus: Nexus, project: Path) -> None:
    with served(calling(("repo_list_tree", {}))) as stub:
        set_model(project, stub.url, tools={"calls": 2}, retries=0)
        told = json.loads(nexus("run", "/exec correct the total", "--json").stdout)

    assert told["actions"] == []
    assert len(stub.asked) < 30
    assert "it calls tools where its answer is due: 2 calls were made" in json.dumps(
        nexus.ok("replay", told["run"]["id"])
    )


@pytest.mark.parametrize(
    "refusal", ["refuses:registry/m does not support tools", "fails:tools param requires --jinja flag"]
)
def test_a_server_without_tools_gets_the_pack_alone(nexus: Nexus, project: Path, refusal: str) -> None:
    with served(refusal, DONE) as stub:
        set_model(project, stub.url)
        told = json.loads(nexus("run", "/exec correct the total in code.txt", "--json").stdout)

    assert [one["kind"] for one in told["actions"]] == ["patch"]
    assert ["tools" in one for one in stub.asked] == [True, False]
    assert "You have tools" not in stub.prompts[1]
    said = [event.body["text"] for event in events_of(project, told["run"]["id"], "agent.progress")]
    assert "the model takes no tools, so it reads only what it is given" in said


@pytest.mark.slow
def test_without_calls_or_tools_in_the_settings_none_are_offered(nexus: Nexus, project: Path) -> None:
    with served(DONE) as stub:
        set_model(project, stub.url, tools={"calls": 0})
        nexus("run", "/exec correct the total in code.txt", "--json")

    assert "tools" not in stub.asked[0]


@pytest.mark.slow
def test_a_server_in_trouble_is_asked_again_where_it_was(nexus: Nexus, project: Path) -> None:
    with served(calling(("repo_list_tree", {})), "cut:" + json.dumps(DONE), DONE) as stub:
        set_model(project, stub.url)
        told = json.loads(nexus("run", "/exec correct the total", "--json").stdout)

    assert [one["kind"] for one in told["actions"]] == ["patch"]
    assert [len(one["messages"]) for one in stub.asked] == [2, 4, 4]


@pytest.mark.slow
def test_a_researcher_and_a_planner_may_look_too(nexus: Nexus, project: Path) -> None:
    plan = {"goal": "g", "steps": [{"id": "S1", "title": "the total", "files": ["code.txt"]}]}
    look = calling(("repo_search", {"query": "total"}))
    with served(look, FOUND, look, plan) as stub:
        set_model(project, stub.url, "researcher")
        nexus.ok("run", "/research where is the total")
        settings = project / ".nexus" / "settings.json"
        settings.write_text(settings.read_text().replace('"researcher"', '"planner"'))
        trust(project)
        nexus.ok("run", "/plan correct the total")

    assert "total = 1" in results(stub, 1)[0]
    assert "total = 1" in results(stub, 3)[0]
