"""A run whose process was killed is shown as stopped and put away by its name; what its attempts left is held too."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, run_git
from tests.runs.live import ASKED, begun, events, folder, listed, record
from tests.terminal import at_work, read_until

SCRIPT = "echo half > half.txt; echo ready; exec sleep 600"


@contextlib.contextmanager
def started(project: Path) -> Iterator[None]:
    with at_work(project, "run", "--", "sh", "-c", SCRIPT) as (_, said):
        read_until(said, "ready")
        yield


@pytest.fixture
def stopped(nexus: Nexus, project: Path) -> str:
    with started(project):
        pass
    (run,) = listed(nexus)
    return run


def cleaned(nexus: Nexus, *argv: str) -> dict[str, Any]:
    (found,) = json.loads(nexus.ok("clean", "--json", *argv))["runs"]
    return dict(found)


def test_a_stopped_run_is_named_as_such_and_put_away_by_its_name(nexus: Nexus, project: Path, stopped: str) -> None:
    all_of_them = cleaned(nexus)
    would = cleaned(nexus, stopped, "--dry-run")
    still = listed(nexus)[stopped]["status"]
    done = cleaned(nexus, stopped)

    assert all_of_them["skipped"].startswith("it stopped; git nexus resume")
    assert (would["skipped"], still) == ("", "stopped")
    assert run_git(project, "show", f"{done['rescue']}:half.txt") == "half\n"
    assert (done["skipped"], done["archive"].startswith("refs/nexus/archive/")) == ("", True)
    assert record(project, stopped)["status"] == listed(nexus)[stopped]["status"] == "cancelled"
    assert [body["why"] for body in events(project, stopped, "run.cancelled")] == ["cleaned up by git nexus clean"]
    assert run_git(project, "branch", "--list", "nexus/*") == ""


def test_what_a_killed_attempt_left_is_held_before_it_goes_into_the_trash(
    nexus: Nexus, project: Path, stopped: str
) -> None:
    aside = folder(project, stopped) / "left-main-1-abcd"
    aside.mkdir()
    (aside / "half.txt").write_text("of another attempt\n")

    done = cleaned(nexus, stopped)

    (kept,) = done["aside"]
    assert not aside.exists()
    assert (Path(kept) / "half.txt").read_text() == "of another attempt\n"
    rescued = run_git(project, "for-each-ref", "--format=%(refname)", "refs/nexus/rescue").split()
    assert sorted(run_git(project, "show", f"{ref}:half.txt") for ref in rescued) == ["half\n", "of another attempt\n"]


def test_what_was_left_is_found_even_where_nothing_else_is(nexus: Nexus, project: Path, stopped: str) -> None:
    cleaned(nexus, stopped)
    aside = folder(project, stopped) / "left-main-1-abcd"
    aside.mkdir()
    (aside / "late.txt").write_text("late\n")

    done = cleaned(nexus)

    assert run_git(project, "show", f"{done['rescue']}:late.txt") == "late\n"


def test_a_run_that_is_driven_is_not_put_away_not_even_by_force(nexus: Nexus, project: Path) -> None:
    with started(project):
        (run,) = listed(nexus)
        named, forced = nexus("clean", run), nexus("clean", run, "--force")
        there = listed(nexus)[run]["status"]

    assert (named.returncode, forced.returncode, there) == (1, 7, "running")


def test_a_run_that_waits_takes_force_and_is_cancelled_by_it(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, status=ASKED)

    refused = nexus("clean", run)
    done = cleaned(nexus, run, "--force")

    assert (refused.returncode, "it is waiting" in refused.stderr) == (1, True)
    assert (done["rescue"], record(project, run)["status"]) == (f"refs/nexus/rescue/{run}", "cancelled")
