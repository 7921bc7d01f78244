"""A handoff that was approved becomes the next step of its run: another agent, the same worktree and branch."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Busy, Invalid, NotFound
from gitnexus.runs.actions import approve
from gitnexus.runs.actions.card import action_card
from gitnexus.runs.agent.tools import call_run_tool
from tests.conftest import Nexus, run_git, trust
from tests.runs.agent.test_agent_at_work import propose, the_run, until, view_of
from tests.runs.begun import begun
from tests.runs.live import ASKED, commits, events, listed
from tests.terminal import at_work

HAND = propose("handoff", to="scripted", message="second.json and mind the gap")


def scripts(place: Path, first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
    for name, steps in (("first.json", first), ("second.json", second)):
        (place / name).write_text(json.dumps({"steps": steps}))
    run_git(place, "add", ".")
    run_git(place, "commit", "-qm", "what the agents do")


def written(name: str) -> dict[str, str]:
    return {"do": "write", "path": name, "text": f"{name}\n"}


def statuses(place: Path, run: str) -> list[tuple[str, str]]:
    return [(name, node.status) for name, node in view_of(place, run).nodes.items()]


@pytest.mark.slow
def test_who_was_handed_over_to_goes_on_once_all_is_answered(nexus: Nexus, project: Path) -> None:
    scripts(project, [written("one"), HAND], [written("two")])

    first = nexus("run", "--agent", "scripted", "first.json", "--title", "count")
    run = the_run(project)
    partly = nexus("approve", "--unseen", run, "a1")
    still = nexus("resume", run)
    answered = nexus.ok("approve", "--unseen", "--hold", run)
    handed = listed(nexus)[run]["status"]
    second = nexus("resume", run)
    shown = listed(nexus)[run]
    nexus.ok("approve", "--unseen", run)

    assert [first.returncode, partly.returncode, still.returncode, second.returncode] == [ASKED, 0, ASKED, ASKED]
    assert (handed, f"Next: git nexus resume {run}" in answered) == ("blocked", True)
    assert (shown["agent"], shown["step"]) == ("scripted", "scripted (handoff-a1)")
    assert statuses(project, run) == [("main", "completed"), ("handoff-a1", "completed")]
    assert run_git(project, "ls-tree", "--name-only", f"nexus/{run}").split() == [
        "first.json", "one", "readme.txt", "second.json", "two"
    ]  # fmt: skip
    assert (len(commits(project, run)), listed(nexus)[run]["status"]) == (2, "completed")
    assert "begins handoff-a1" in nexus.ok("replay", "--verify", run)
    assert view_of(project, run).odd == ()


@pytest.mark.slow
def test_what_the_policy_allows_goes_from_one_to_the_other_without_a_question(nexus: Nexus, project: Path) -> None:
    nexus.ok("policy", "add", "allow", "--handoff", "scripted", "scripted")
    nexus.ok("policy", "add", "allow", "--write", "one", "--write", "two")
    trust(project)
    scripts(project, [written("one"), HAND], [written("two")])

    done = nexus("run", "--agent", "scripted", "first.json")

    run = the_run(project)
    assert done.returncode == 0, done.stderr
    assert statuses(project, run) == [("main", "completed"), ("handoff-a1", "completed")]
    assert len(commits(project, run)) == 2


def test_what_was_denied_to_one_is_not_there_for_the_next(nexus: Nexus, project: Path) -> None:
    scripts(project, [written("one"), HAND], [written("two")])
    nexus("run", "--agent", "scripted", "first.json")
    run = the_run(project)
    nexus.ok("approve", "--unseen", run, "a1")
    nexus.ok("deny", run, "a2", "--reason", "no")

    nexus("resume", run)
    nexus.ok("approve", "--unseen", run)

    assert run_git(project, "diff", "--name-only", "HEAD", f"nexus/{run}") == "two\n"
    assert listed(nexus)[run]["status"] == "completed"
    (left,) = (project / ".git/nexus/runs" / run).glob("left-handoff-a1-0-*")
    assert (left / "one").read_text() == "one\n"


@pytest.mark.slow
def test_a_step_that_was_handed_over_to_survives_a_kill(nexus: Nexus, project: Path) -> None:
    once = 'test -e "$HOME/again" || { touch "$HOME/again"; sleep 600; }'
    scripts(project, [HAND], [{"do": "run", "argv": ["sh", "-c", once]}, written("two")])
    nexus("run", "--agent", "scripted", "first.json")
    run = the_run(project)
    nexus.ok("approve", "--unseen", "--hold", run)
    with at_work(project, "resume", run):
        until(lambda: ("handoff-a1", "started") in statuses(project, run))
        until(lambda: any("run: " in body["text"] for body in events(project, run, "agent.progress")))

    stopped = listed(nexus)[run]["status"]
    again = nexus("resume", run)

    assert (stopped, again.returncode) == ("stopped", ASKED)
    assert view_of(project, run).nodes["handoff-a1"].attempts == 2
    assert [body["node"] for body in events(project, run, "node.started")] == ["main", "handoff-a1", "handoff-a1"]


@pytest.mark.slow
def test_who_was_handed_over_to_may_ask_and_goes_on_when_it_is_answered(nexus: Nexus, project: Path) -> None:
    scripts(project, [HAND], [propose("ask", question="which colour?")])
    nexus("run", "--agent", "scripted", "first.json")
    run = the_run(project)
    nexus.ok("approve", "--unseen", run)

    asked = nexus("resume", run)
    nexus.ok("answer", run, "green")
    nexus.ok("resume", run)

    assert asked.returncode == ASKED
    assert statuses(project, run) == [("main", "completed"), ("handoff-a1", "completed")]
    assert listed(nexus)[run]["status"] == "completed"


def test_a_handoff_that_was_begun_and_not_seen_to_end_is_brought_to_its_end(project: Path) -> None:
    with begun(project) as desk:
        call_run_tool(desk, "handoff", {"to": "scripted", "message": "second.json"})
        torn = desk.log.append

        def killed(kind: str, *rest: Any) -> Any:
            if kind == "artifact.written":
                raise KeyboardInterrupt
            return torn(kind, *rest)

        desk.log.append = killed  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            approve.approve_action(desk, "a1")
        desk.log.append = torn  # type: ignore[method-assign]
        before = desk.view().actions["a1"].status

        approve.finish_interrupted(desk, "a1")

        assert (before, desk.view().actions["a1"].status, desk.view().status) == ("unknown", "executed", "blocked")
        assert desk.view().odd == ()


@pytest.mark.parametrize(("to", "error"), [("nobody", NotFound), ("command", Invalid), ("", NotFound)])
def test_nobody_is_handed_over_to_who_could_not_be_started(project: Path, to: str, error: type[Exception]) -> None:
    with begun(project) as desk:
        with pytest.raises(error):
            call_run_tool(desk, "handoff", {"to": to, "message": "go on"})

        assert desk.view().actions == {}


def test_201_handoffs_are_bounded(project: Path) -> None:
    with begun(project) as desk:
        for _ in range(10):
            call_run_tool(desk, "handoff", {"to": "scripted", "message": "second.json"})

        with pytest.raises(Busy):
            call_run_tool(desk, "handoff", {"to": "scripted", "message": "second.json"})


def test_the_card_of_a_handoff_shows_the_message(project: Path) -> None:
    with begun(project) as desk:
        call_run_tool(desk, "handoff", {"to": "scripted", "message": "second.json\nmind the \x1b[2Jgap"})

        card, _ = action_card(desk, "a1")

    assert card.body[0] == "second.json"
    assert "\x1b" not in "".join(card.body)
