"""An agent in the sandbox proposes and asks through the hatch, people answer from another terminal, the run goes on."""

import inspect
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitnexus.app import open_nexus
from gitnexus.events.view import RunView
from gitnexus.runs.open_run import open_run
from tests.conftest import Nexus, run_git, trust
from tests.runs.begun import begun, new_file, patch_of

GREET = patch_of("readme.txt", "hello", "goodbye")


def propose(tool: str, *, refused: bool = False, **given: Any) -> dict[str, Any]:
    return {"do": "propose", "tool": tool, "input": given, "refused": refused}


def written(place: Path, *steps: dict[str, Any]) -> None:
    (place / "steps.json").write_text(json.dumps({"steps": steps}))
    run_git(place, "add", "steps.json")
    run_git(place, "commit", "-qm", "what the agent does")


def view_of(place: Path, run: str) -> RunView:
    nexus = open_nexus(place)
    try:
        return open_run(nexus.state, run).view()
    finally:
        nexus.close()


def the_run(place: Path) -> str:
    return next(iter(sorted(path.name for path in (place / ".git/nexus/runs").glob("2*"))), "")


def until(found: Callable[[], bool]) -> None:
    """Look until it is so; a test that never sees it is ended by its own limit."""
    limit = time.monotonic() + 120
    while not found():
        assert time.monotonic() < limit, f"waited 120 s in vain for: {inspect.getsource(found).strip()}"
        time.sleep(0.05)


def waits(place: Path, action: str) -> bool:
    log = place / ".git/nexus/runs" / (the_run(place) or "none") / "events.jsonl"
    return log.exists() and f'"action":"{action}","risk"'.encode() in log.read_bytes()


@pytest.mark.slow
def test_a_proposer_is_answered_while_it_works(nexus: Nexus, project: Path) -> None:
    nexus.ok("policy", "add", "allow", "--", "cat", "readme.txt")
    nexus.ok("policy", "add", "deny", "--", "date")
    trust(project)
    written(
        project,
        propose("read", path="readme.txt"),
        propose("read", path="../../etc/passwd", refused=True),
        propose("propose_patch", patch=new_file("../outside"), refused=True),
        propose("propose_command", argv=["date"], refused=True),
        propose("propose_patch", patch=GREET, summary="greet", wait=50),
        propose("propose_command", argv=["cat", "readme.txt"]),
        {"do": "say", "text": "Done."},
    )
    argv = ["git", "nexus", "run", "--agent", "scripted", "--way", "proposer", "steps.json"]
    with subprocess.Popen(argv, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as going:
        until(lambda: waits(project, "a2"))
        nexus.ok("approve", "--unseen", the_run(project), "a2")
        said = going.communicate(timeout=120)[0]

    view = view_of(project, the_run(project))
    assert going.returncode == 0, said
    assert [(one.kind, one.status) for one in view.actions.values()] == [
        ("command", "denied"), ("patch", "executed"), ("command", "executed")
    ]  # fmt: skip
    assert (view.status, view.odd) == ("completed", ())
    branch = f"nexus/{the_run(project)}"
    assert run_git(project, "show", f"{branch}:readme.txt") == "goodbye\n"
    assert run_git(project, "log", "--format=%an", "-1", branch) == "scripted (agent)\n"
    assert (project / "readme.txt").read_text() == "hello\n"
    assert "goodbye" in nexus.ok("replay", "--json", the_run(project))


@pytest.mark.slow
def test_what_an_agent_left_waiting_is_done_when_it_is_approved_later(nexus: Nexus, project: Path) -> None:
    written(project, propose("propose_patch", patch=GREET), propose("propose_command", argv=["cat", "steps.json"]))

    first = nexus("run", "--agent", "scripted", "--way", "proposer", "steps.json")
    run = the_run(project)
    command = nexus("approve", "--unseen", run, "a2")
    done = json.loads(
        nexus.ok("approve", "--unseen", run, "a1", "--json") if command.returncode == 0 else command.stderr
    )

    assert first.returncode == 21
    assert [one["status"] for one in done["actions"]] == ["executed", "executed"]
    assert done["run"]["status"] == "completed"
    assert run_git(project, "show", f"nexus/{run}:readme.txt") == "goodbye\n"


@pytest.mark.slow
def test_an_agent_that_ended_with_a_question_goes_on_when_it_is_answered(nexus: Nexus, project: Path) -> None:
    written(project, propose("ask", question="which colour?"), {"do": "say", "text": "I asked."})

    first = nexus("run", "--agent", "scripted", "steps.json")
    run = the_run(project)
    shown = nexus("review", run)
    answered = nexus.ok("answer", "--hold", run, "green")
    status = view_of(project, run).status
    nexus.ok("resume", run)

    assert (first.returncode, "q1 asks: which colour?" in shown.stdout) == (21, True)
    assert "git nexus resume" in answered
    assert (status, view_of(project, run).status) == ("blocked", "completed")
    assert view_of(project, run).nodes["main"].attempts == 2


def test_a_killed_agent_leaves_nothing_running_and_its_proposal_stands(nexus: Nexus, project: Path) -> None:
    written(project, propose("propose_patch", patch=GREET), {"do": "run", "argv": ["sh", "-c", "kill -9 $PPID"]})

    first = nexus("run", "--agent", "scripted", "steps.json")
    run = the_run(project)

    assert first.returncode == 21, first.stderr
    assert [one.status for one in view_of(project, run).actions.values()] == ["waiting"]
    assert list((project / ".git/nexus/runs" / run / "private").glob("calls-*")) == []
    nexus.ok("replay", "--verify", run)


def test_any_command_finds_the_tools_by_name(nexus: Nexus, project: Path) -> None:
    done = nexus(
        "run", "--", "sh", "-c", 'eval set -- "$NEXUS_TOOLS"; test -x "$1" && test -p "$5/requests" && echo here'
    )

    assert (done.returncode, "here" in done.stderr) == (0, True)


@pytest.mark.parametrize("argv", [("--way", "proposer", "--", "true"), ("--agent", "aider", "--way", "proposer", "x")])
def test_who_cannot_propose_is_not_started_as_a_proposer(nexus: Nexus, project: Path, argv: tuple[str, ...]) -> None:
    done = nexus("run", *argv)

    assert (done.returncode, "cannot work as proposer" in done.stderr, the_run(project)) == (6, True, "")


def test_the_policy_has_agents_propose_only_and_the_flag_cannot_loosen_that(nexus: Nexus, project: Path) -> None:
    (project / ".nexus" / "policy.md").write_text("---\nversion: 1\nway: proposer\n---\n")  # and nobody signed it
    written(project, propose("propose_patch", patch=GREET), {"do": "say", "text": "Done."})

    loosened = nexus("run", "--agent", "scripted", "--way", "contained", "steps.json")
    command = nexus("run", "--", "true")
    done = nexus("run", "--agent", "scripted", "steps.json")

    assert (loosened.returncode, "can only be stricter" in loosened.stderr) == (20, True)
    assert (command.returncode, "command cannot work as proposer" in command.stderr) == (6, True)
    assert done.returncode == 21
    assert json.loads(nexus.ok("policy", "show", "--json"))["way"] == "proposer"
    (defined,) = (project / ".git/nexus/runs").glob("2*/workflow.json")
    assert [node["way"] for node in json.loads(defined.read_text())["nodes"]] == ["proposer"]


def test_a_run_goes_on_under_the_stricter_way_that_holds_by_now(nexus: Nexus, project: Path, sealed: Path) -> None:
    with begun(project) as desk:
        run = desk.record.id
    (sealed / "nexus" / "policy.md").write_text("---\nversion: 1\nway: proposer\n---\n")

    done = nexus("resume", run)

    assert (done.returncode, "command cannot work as proposer" in done.stderr) == (6, True)
    assert view_of(project, run).status == "failed"
