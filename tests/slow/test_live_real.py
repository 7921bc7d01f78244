"""Live approvals with the real programs: each call is asked about, and what is not approved is not done."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.stub_models import Step
from tests.conftest import Nexus, run_git
from tests.slow.programs import WAYS, Model, placed

pytestmark = pytest.mark.slow
NAMES = list(WAYS)
Answer = Callable[[Nexus, str, str], object]


def approved(nexus: Nexus, run: str, action: str) -> None:
    nexus.ok("approve", "--unseen", run, action)


def denied(nexus: Nexus, run: str, action: str) -> None:
    nexus.ok("deny", run, action, "--reason", "not today")


def answered(nexus: Nexus, options: Sequence[str], answers: Sequence[Answer]) -> dict[str, Any]:
    """Run an agent without a terminal, and answer what it asks from another process while it waits."""
    child = subprocess.Popen(
        ["git", "nexus", "run", "Do it", "--live", "--seconds", "120", "--json", *options],
        cwd=nexus.place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for number, answer in enumerate(answers, 1):
        run = waited(nexus, child, f"a{number}")
        answer(nexus, run, f"a{number}")
    out, err = child.communicate(timeout=150)
    print(err)
    found: dict[str, Any] = json.loads(out)
    return found


def waited(nexus: Nexus, child: "subprocess.Popen[str]", action: str) -> str:
    """Return the run once an action of it waits: its log tells, and costs a busy machine less than to ask."""
    until = time.monotonic() + 90
    while time.monotonic() < until and child.poll() is None:
        for log in (nexus.place / ".git" / "nexus" / "runs").glob("*/events.jsonl"):
            events = [json.loads(line) for line in log.read_text().split("\n")[:-1]]
            last = [one["kind"] for one in events if one["body"].get("action") == action]
            if last[-1:] == ["action.judged"] and events[-1]["kind"] != "run.finished":
                return log.parent.name
        time.sleep(0.1)
    out, err = child.communicate(timeout=30) if child.poll() is not None else ("", "it still runs")
    raise AssertionError(f"{action} was never asked about:\n{out}{err}")


@pytest.fixture
def patient(sealed: Path) -> None:
    with (sealed / ".gitconfig").open("a") as file:
        file.write("[nexus]\n\tapprovalWait = 90\n")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_approved_elsewhere_while_it_waits_is_done_and_written_down(
    name: str, nexus: Nexus, project: Path, sealed: Path, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(name, sealed, monkeypatch)
    steps = (WAYS[name].write("new.txt", "new\n"), WAYS[name].run("echo ran > ran.txt"), Step(text="All done."))
    with Model(sealed, *steps) as model:
        found = answered(nexus, model.options(name), [approved, approved])
    run, worktree = found["run"]["id"], Path(found["run"]["worktree"])
    rows = [(one["kind"], one["status"]) for one in found["actions"]]

    # What the command made is only known after it ran: that is the patch at the end.
    assert rows == [("patch", "executed"), ("command", "executed"), ("patch", "waiting")]
    assert (worktree / "new.txt").read_text() == "new\n"
    assert (worktree / "ran.txt").read_text() == "ran\n"
    assert run_git(project, "show", "--format=", "--name-only", f"nexus/{run}").split() == ["new.txt"]
    nexus.ok("approve", "--unseen", run)
    proved = json.loads(nexus.ok("verify", f"main..nexus/{run}", "--require-approval", "--json"))
    assert [row["status"] for row in proved["commits"]] == ["approved", "approved"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_denied_is_not_done(
    name: str, nexus: Nexus, project: Path, sealed: Path, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(name, sealed, monkeypatch)
    ways = WAYS[name]
    calls = [(ways.write("new.txt", "new\n"), "patch"), (ways.run("echo ran > ran.txt"), "command")]
    # A no ends the turn of the others, so the command is asked about alone there.
    for together in [calls] if name in ("claude", "gemini") else [[one] for one in calls]:
        with Model(sealed, *(step for step, _ in together), Step(text="I could not.")) as model:
            found = answered(nexus, model.options(name), [denied for _ in together])
        worktree = Path(found["run"]["worktree"])

        told = [(one["kind"], one["status"], one["why"]) for one in found["actions"]]
        assert told == [(kind, "denied", "not today") for _, kind in together]
        assert sorted(path.name for path in worktree.iterdir() if not path.name.startswith(".")) == ["readme.txt"]
        nexus.ok("clean", found["run"]["id"], "--force")


@pytest.mark.parametrize("name", NAMES)
def test_nobody_answers_and_it_is_left_waiting_for_whoever_comes_later(
    name: str, nexus: Nexus, project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(name, sealed, monkeypatch)
    with (sealed / ".gitconfig").open("a") as file:
        file.write("[nexus]\n\tapprovalWait = 1\n")
    with Model(sealed, WAYS[name].write("new.txt", "new\n"), Step(text="I could not.")) as model:
        done = nexus("run", "Do it", "--live", "--seconds", "120", "--json", *model.options(name))
    found = json.loads(done.stdout)
    run, worktree = found["run"]["id"], Path(found["run"]["worktree"])
    before = (worktree / "new.txt").exists()
    nexus.ok("approve", "--unseen", run)

    assert [(one["kind"], one["status"]) for one in found["actions"]] == [("patch", "waiting")]
    assert done.returncode == 21
    assert not before
    assert (worktree / "new.txt").read_text() == "new\n"
