"""`approve` killed after the log says that the run ended, and before its record does: the next `approve` ends it."""

from pathlib import Path

from tests.conftest import Nexus, run_git
from tests.runs.live import approved, record


def test_a_record_that_is_behind_its_log_is_brought_up_by_the_next_approve(nexus: Nexus, project: Path) -> None:
    run = approved(nexus)
    commits = run_git(project, "log", "--format=%H", "refs/nexus/state", "--", f"runs/{run}.json").split()
    run_git(project, "update-ref", "refs/nexus/state", f"{commits[0]}^")
    assert record(project, run)["status"] == "waiting"

    nexus.ok("approve", "--unseen", run)

    assert record(project, run)["status"] == "completed"
    again = nexus("approve", "--unseen", run)
    assert (again.returncode, again.stderr.splitlines()[0]) == (1, f"error: nothing of {run} waits for an answer")
