"""After an answer a run goes on by itself, in the background; it can be followed, and it can be held."""

import json
from pathlib import Path

import pytest

from gitnexus.runs.actions.approve import approve_action
from gitnexus.runs.drive import drive_run
from gitnexus.runs.open_run import OpenRun
from gitnexus.workflow.definition import WorkflowDefinition, make_node
from tests.conftest import Nexus
from tests.runs.actions.test_handoff import HAND, scripts, statuses, written
from tests.runs.agent.test_agent_at_work import propose, the_run, view_of
from tests.runs.agent.test_agent_at_work import written as script
from tests.runs.begun import begun
from tests.runs.live import ASKED, listed
from tests.terminal import at_work
from tests.waiting import wait_until

DONE = ("main", "completed")


def handed_over(nexus: Nexus, project: Path) -> str:
    """Start a run whose agent hands over to a second one, which writes a file; return its id."""
    scripts(project, [HAND], [written("two")])
    assert nexus("run", "--agent", "scripted", "first.json").returncode == ASKED
    return the_run(project)


def test_a_yes_lets_the_next_agent_work_until_a_person_is_needed_again(nexus: Nexus, project: Path) -> None:
    run = handed_over(nexus, project)

    said = nexus("approve", "--unseen", run)
    wait_until("the second agent", lambda: view_of(project, run).status == "waiting")

    assert f"{run} continues in the background" in said.stderr
    assert statuses(project, run) == [DONE, ("handoff-a1", "completed")]
    assert view_of(project, run).actions["a2"].status == "waiting"


@pytest.mark.slow
def test_a_run_that_goes_on_is_followed_by_resume_and_by_wait(nexus: Nexus, project: Path) -> None:
    run = handed_over(nexus, project)
    nexus.ok("approve", "--unseen", run)

    followed = nexus("resume", run)
    ended = nexus("approve", "--unseen", "--wait", run)

    assert (followed.returncode, f"git nexus review {run}" in followed.stdout) == (ASKED, True)
    assert (ended.returncode, listed(nexus)[run]["status"]) == (0, "completed")


@pytest.mark.slow
def test_wait_drives_here_and_leaves_with_the_status_of_the_run(nexus: Nexus, project: Path) -> None:
    run = handed_over(nexus, project)

    done = nexus("approve", "--unseen", "--wait", run)

    assert (done.returncode, view_of(project, run).actions["a2"].status) == (ASKED, "waiting")
    assert not (project / ".git/nexus/runs" / run / "driver.log").exists()


@pytest.mark.slow
def test_hold_leaves_it_to_resume_and_a_run_that_waits_its_turn_is_not_stopped(nexus: Nexus, project: Path) -> None:
    run = handed_over(nexus, project)

    nexus.ok("approve", "--unseen", "--hold", run)
    held = listed(nexus)[run]["status"]
    resumed = nexus("resume", run)

    assert held == "blocked"
    assert (resumed.returncode, statuses(project, run)[-1]) == (ASKED, ("handoff-a1", "completed"))


@pytest.mark.slow
def test_an_answer_lets_the_agent_go_on(nexus: Nexus, project: Path) -> None:
    script(project, propose("ask", question="which colour?"), {"do": "say", "text": "I asked."})
    assert nexus("run", "--agent", "scripted", "steps.json").returncode == ASKED
    run = the_run(project)

    nexus.ok("answer", run, "green")

    wait_until("the end", lambda: view_of(project, run).status == "completed")
    assert view_of(project, run).nodes["main"].attempts == 2


def test_a_workflow_whose_next_node_is_a_program_goes_on_with_it(nexus: Nexus, project: Path) -> None:
    words = "replace `hello` by `bye` in readme.txt"
    nodes = (make_node("edit", "exec", prompt=words), make_node("list", "command", argv=("cat", "readme.txt")))
    flow = WorkflowDefinition(name="two", prompt=words, nodes=nodes, edges=(("edit", "list"),))
    (project / "flow.json").write_text(json.dumps(flow.plain()))
    assert nexus("run", "--workflow", "flow.json", "--yes").returncode == ASKED
    run = the_run(project)

    told = nexus.ok("approve", "--unseen", "--hold", run)
    held = listed(nexus)[run]["status"]
    nexus.ok("resume", run)

    assert f"{run} ready " in told
    assert f"Next: git nexus resume {run}" in told
    assert (held, listed(nexus)[run]["status"]) == ("ready", "completed")


def test_what_is_answered_while_its_driver_lets_go_is_not_lost(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint = OpenRun.write_checkpoint

    def write_and_answer(run: OpenRun) -> None:
        write_checkpoint(run)
        if run.view().actions["a1"].status == "waiting":
            approve_action(run, "a1")  # as another terminal would, which sees that the run is driven

    with begun(project) as run:
        (run.worktree_path / "new").write_text("new\n")
        monkeypatch.setattr(OpenRun, "write_checkpoint", write_and_answer)
        run.log.append("node.started", "nexus", {"node": "main"})
        run.log.append("node.completed", "nexus", {"node": "main"})
        from gitnexus.runs.actions.propose import propose_worktree_changes

        propose_worktree_changes(run, "new", "main")
        view = drive_run(run, lambda said: None, None)

    assert (view.status, view.actions["a1"].status) == ("completed", "executed")


def test_a_killed_run_is_still_said_to_be_stopped(nexus: Nexus, project: Path) -> None:
    with at_work(project, "run", "--", "sh", "-c", "sleep 600"):
        wait_until("the agent", lambda: any(row["status"] == "running" for row in listed(nexus).values()))

    (row,) = listed(nexus).values()
    assert row["status"] == "stopped"


def test_a_failed_command_is_shown_with_its_status_and_the_end_of_its_output(nexus: Nexus, project: Path) -> None:
    loud = "i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); done; echo 1 failed, 7 passed; exit 3"
    script(project, propose("propose_command", argv=["sh", "-c", loud]))
    nexus("run", "--agent", "scripted", "steps.json")
    run = the_run(project)

    shown = nexus.ok("approve", "--unseen", run)
    told = json.loads(nexus("review", run, "--json").stdout)["runs"][0]["actions"][0]
    whole = nexus.ok("artifacts", run, "a1")

    assert "a1  command  failed" in shown
    assert f"a1 failed with status 3, and printed at last (git nexus artifacts {run} a1 has all):" in shown
    assert "│ line 399\n  │ 1 failed, 7 passed\n" in shown
    assert (told["ok"], told["exit"], told["output"].endswith("1 failed, 7 passed\n")) == (False, 3, True)
    assert whole.startswith("line 0\nline 1\n")
    assert whole.endswith("1 failed, 7 passed\n")
