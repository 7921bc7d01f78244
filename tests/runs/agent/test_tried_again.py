"""A run whose agent failed is tried again by `resume`: from the last commit, each time it is asked for."""

import json
from pathlib import Path

from tests.conftest import Nexus, run_git
from tests.runs.agent.test_agent_at_work import propose, the_run, view_of, written
from tests.runs.live import ASKED

AGAIN = "to try again"


def test_each_resume_of_a_failed_agent_is_one_attempt_and_says_that_another_is_possible(
    nexus: Nexus, project: Path
) -> None:
    written(project, propose("handoff", to="nobody", message="x"))

    failed = nexus("run", "--agent", "scripted", "steps.json")
    run = the_run(project)
    again = [nexus("resume", run) for _ in range(2)]

    assert [one.returncode for one in (failed, *again)] == [1, 1, 1]
    assert all(f"git nexus resume {run} {AGAIN}" in one.stdout for one in (failed, *again))
    assert (view_of(project, run).status, view_of(project, run).nodes["main"].attempts) == ("failed", 3)
    row = next(one for one in json.loads(nexus.ok("metrics", "--json"))["metrics"] if one["adapter"] == "scripted")
    assert row["retries"] == 2
    assert nexus("replay", run, "--verify").returncode == 0


def test_what_a_person_denied_is_not_tried_again(nexus: Nexus, project: Path) -> None:
    written(project, {"do": "write", "path": "one", "text": "one\n"})
    assert nexus("run", "--agent", "scripted", "steps.json").returncode == ASKED
    run = the_run(project)
    nexus("deny", "--wait", run)

    again = nexus("resume", run)

    assert AGAIN not in again.stdout
    assert view_of(project, run).nodes["main"].attempts == 1
    assert run_git(project, "rev-parse", f"nexus/{run}") == run_git(project, "rev-parse", "HEAD")
