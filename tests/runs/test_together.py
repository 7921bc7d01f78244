"""Several runs in one repository, and several people at one run."""

import contextlib
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.runs.live import ASKED, begun, commits, events, folder, listed
from tests.terminal import at_work


def at_once(place: Path, *calls: tuple[str, ...]) -> "list[tuple[int, str]]":
    """Run commands side by side and return the status and the complaints of each."""
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(at_work(place, *argv)) for argv in calls]
        complaints = [said.read() for _, said in children]
        return [(child.wait(), said) for (child, _), said in zip(children, complaints, strict=True)]


@pytest.mark.slow
def test_eight_runs_at_once_do_not_touch_each_other(nexus: Nexus, project: Path) -> None:
    scripts = [f"echo {number} >> readme.txt; echo said {number}" for number in range(8)]

    started = at_once(project, *(("run", "--title", f"t{n}", "--", "sh", "-c", scripts[n]) for n in range(8)))
    runs = {row["title"]: run for run, row in listed(nexus).items()}
    approved = at_once(project, *(("approve", "--unseen", run) for run in runs.values()))

    assert [status for status, _ in started] == [ASKED] * 8, started
    assert [status for status, _ in approved] == [0] * 8, approved
    for number in range(8):
        run = runs[f"t{number}"]
        assert run_git(project, "show", f"nexus/{run}:readme.txt") == f"hello\n{number}\n"
        assert len(commits(project, run)) == 1
        assert f"said {number}" in [body["text"] for body in events(project, run, "agent.progress")]
        nexus.ok("replay", run, "--verify")
    assert {row["status"] for row in listed(nexus).values()} == {"completed"}
    assert run_git(project, "fsck", "--strict", "--no-dangling") == ""


def test_of_people_who_approve_at_once_one_does_and_all_hear_that_it_is_done(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)

    said = at_once(project, *[("approve", "--unseen", run, "a1")] * 4)

    assert [status for status, _ in said] == [0] * 4, said
    assert len(commits(project, run)) == 1
    assert len(events(project, run, "permission.granted")) == len(events(project, run, "tool.intended")) == 1
    assert len(events(project, run, "run.finished")) == 1
    nexus.ok("replay", run, "--verify")


def test_of_a_yes_and_a_no_at_once_one_counts(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)

    at_once(project, ("approve", "--unseen", run, "a1"), ("deny", run, "a1"))

    said_no = len(events(project, run, "permission.denied"))
    assert len(commits(project, run)) == len(events(project, run, "permission.granted")) == 1 - said_no
    nexus.ok("replay", run, "--verify")


def test_who_only_looks_does_not_turn_the_driver_away(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)

    said = at_once(project, *[("runs",)] * 3, ("resume", run), *[("runs",)] * 3)

    assert [status for status, _ in said] == [0] * 3 + [ASKED] + [0] * 3, said
    assert (folder(project, run) / "driver.lock").exists()
