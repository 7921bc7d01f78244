"""The life of a run, by the commands that a person types."""

import json
import os
import signal
from pathlib import Path

import pytest

from gitnexus.policy.tokens import parse_token
from gitnexus.runs.store import update_run
from gitnexus.state import State
from gitnexus.state.home import home_folder
from tests.conftest import Nexus, run_git
from tests.runs.live import ASKED, DENIED, approved, begun, commits, events, folder, listed, record, untouched
from tests.terminal import at_work, killed_at, read_until


def shown(place: Path, commit: str, form: str) -> str:
    return run_git(place, "show", "-s", f"--format={form}", commit).strip()


def test_a_command_that_changes_nothing_ends_by_itself(nexus: Nexus, project: Path) -> None:
    done = nexus("run", "--", "true")

    (run,) = listed(nexus)
    assert done.returncode == 0
    assert "nothing was changed" in done.stdout
    assert commits(project, run) == []
    assert (listed(nexus)[run]["status"], record(project, run)["status"]) == ("completed", "completed")


def test_a_patch_waits_and_an_approval_from_elsewhere_commits_it_for_agent_and_person(
    nexus: Nexus, project: Path
) -> None:
    (project / "mine.txt").write_text("not added\n")
    mine = untouched(project)
    run = begun(nexus, "echo more >> readme.txt")
    waiting = listed(nexus)[run]

    nexus.ok("approve", "--unseen", run)

    (commit,) = commits(project, run)
    assert (waiting["status"], waiting["waits"]) == ("waiting", "1 waiting")
    assert shown(project, commit, "%an <%ae>|%cn <%ce>") == (
        "command (agent) <agent@nexus.invalid>|Test Person <test@example.com>"
    )
    assert shown(project, commit, "%(trailers:key=Nexus-Run,valueonly)") == run
    assert shown(project, commit, "%(trailers:key=Nexus-Action,valueonly)") == "a1"
    assert shown(project, commit, "%(trailers:key=Nexus-Agent,valueonly)") == "command"
    token = shown(project, commit, "%(trailers:key=Nexus-Approval,valueonly)").strip()
    length, policy = parse_token(token)[0].seen
    assert (length.split(".")[0], policy.split(" ")[0]) == ("1", "policy.md")
    assert run_git(project, "show", f"{commit}:readme.txt") == "hello\nmore\n"
    assert untouched(project) == mine


def test_a_denial_has_its_reason_told_and_nothing_is_committed(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)

    told = json.loads(nexus.ok("deny", run, "--reason", "not today", "--json"))

    assert told["run"]["status"] == "failed"
    assert [(one["status"], one["why"]) for one in told["actions"]] == [("denied", "not today")]
    assert commits(project, run) == []
    assert "not today" in nexus.ok("replay", run)


def test_a_run_whose_card_was_closed_without_an_answer_is_told_as_waiting(nexus: Nexus, project: Path) -> None:
    killed_at(project, "git-nexus", "run", "--", "sh", "-c", "echo more >> readme.txt", seen="Approve?")

    told = json.loads(nexus.ok("status", "--json"))

    assert told["runs"] == {"waiting": 1}
    assert "git nexus review" in told["next"][0]


def test_the_answer_of_run_has_the_shape_that_is_promised(nexus: Nexus, project: Path) -> None:
    told = json.loads(nexus("run", "--json", "--title", "tidy", "--", "sh", "-c", "echo x > new").stdout)

    head = run_git(project, "rev-parse", "HEAD").strip()
    run = told["run"]
    assert {key: run[key] for key in ("status", "branch", "base", "head", "title", "agent")} == {
        "status": "waiting",
        "branch": f"nexus/{run['id']}",
        "base": head,
        "head": head,
        "title": "tidy",
        "agent": "command",
    }
    assert told["actions"][0].pop("digest").startswith("sha256:")
    assert told["actions"] == [{"id": "a1", "kind": "patch", "summary": "tidy", "verdict": "ask", "status": "waiting"}]
    assert {key for row in listed(nexus).values() for key in row} == {
        "id", "status", "age", "agent", "branch", "lines", "waits", "title", "step", "mode",
        "foreign", "claimed", "statusClaimed", "disputed",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        pytest.param(("run", "--", "true"), 0, id="nothing-to-approve"),
        pytest.param(("run", "--", "sh", "-c", "exit 3"), 1, id="the-agent-failed"),
        pytest.param(("run", "--", "sh", "-c", "echo > new"), ASKED, id="something-waits"),
        pytest.param(("run", "--", "sh", "-c", "ln -s /etc link"), DENIED, id="the-policy-denies"),
        pytest.param(("run", "--", "no-such-program"), 4, id="no-such-program"),
        pytest.param(("run", "--base", "no-such-commit", "--", "true"), 4, id="no-such-base"),
        pytest.param(("approve", "no-such-run"), 4, id="no-such-run"),
        pytest.param(("run",), 6, id="nothing-to-run"),
    ],
)
def test_the_exit_status_tells_a_script_how_it_stands(
    nexus: Nexus, project: Path, argv: tuple[str, ...], status: int
) -> None:
    assert nexus(*argv).returncode == status


def test_what_the_policy_allows_is_committed_without_a_question(nexus: Nexus, project: Path) -> None:
    nexus.ok("policy", "add", "allow", "--user", "--write", "docs/**")

    run = begun(nexus, "mkdir docs && echo x > docs/a.md", status=0)

    assert len(commits(project, run)) == 1
    assert "user.allow.1" in nexus.ok("replay", run)
    nexus.ok("replay", run, "--verify")


def test_accept_edits_takes_the_paths_that_the_policy_names_and_asks_for_others(
    nexus: Nexus, project: Path, sealed: Path
) -> None:
    (sealed / "nexus" / "policy.md").write_text("---\nversion: 1\nedits: [docs/**]\n---\n")

    accepted = begun(nexus, "mkdir docs && echo x > docs/a.md", "--mode", "acceptEdits", status=0)
    asked = begun(nexus, "mkdir docs src && echo x > docs/a.md && echo > src/b", "--mode", "acceptEdits")
    default = begun(nexus, "mkdir docs && echo x > docs/a.md")

    assert [len(commits(project, run)) for run in (accepted, asked, default)] == [1, 0, 0]


def test_a_yes_for_a_path_reaches_the_next_run_and_no_other_file(nexus: Nexus, project: Path) -> None:
    first = begun(nexus, "echo 1 > notes")
    nexus.ok("approve", "--unseen", first, "--scope", "path")

    second = begun(nexus, "echo 2 > notes", status=0)
    third = begun(nexus, "echo 3 > other")

    assert [len(commits(project, run)) for run in (first, second, third)] == [1, 1, 0]
    nexus.ok("replay", second, "--verify")


def test_a_yes_for_a_session_ends_with_its_run(nexus: Nexus, project: Path) -> None:
    first = begun(nexus, "echo 1 > notes")
    nexus.ok("approve", "--unseen", first, "--scope", "session")

    begun(nexus, "echo 2 > notes")


def test_a_run_ends_where_it_is_cancelled_and_keeps_what_it_has(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)

    nexus.ok("cancel", run, "--reason", "changed my mind")

    assert listed(nexus)[run]["status"] == record(project, run)["status"] == "cancelled"
    assert run_git(project, "rev-parse", "--verify", f"nexus/{run}")
    assert nexus("cancel", run).returncode == 1
    assert nexus("approve", "--unseen", run).returncode != 0
    assert commits(project, run) == []


def test_an_approval_twice_says_that_nothing_waits(nexus: Nexus, project: Path) -> None:
    run = approved(nexus)

    again = nexus("approve", "--unseen", run)
    named = nexus("approve", "--unseen", run, "a1")

    assert (again.returncode, named.returncode) == (1, 0)
    assert "executed" in named.stderr
    assert len(commits(project, run)) == 1


def test_a_linked_worktree_begins_a_run_on_its_own_branch(nexus: Nexus, project: Path) -> None:
    other = project.parent / "other place"
    run_git(project, "worktree", "add", "-q", "-b", "side", str(other))
    (other / "side.txt").write_text("side\n")
    run_git(other, "add", ".")
    run_git(other, "commit", "-qm", "side")
    there = Nexus(other)

    run = begun(there, "echo more >> side.txt")
    nexus.ok("approve", "--unseen", run)

    assert run_git(project, "show", f"nexus/{run}:side.txt") == "side\nmore\n"
    assert record(project, run)["onto"] == "side"
    assert run_git(other, "status", "--porcelain") == ""


def test_what_fits_into_no_tree_is_told_and_a_file_that_became_such_is_no_deletion(nexus: Nexus, project: Path) -> None:
    added = begun(nexus, "mkfifo pipe; echo x > plain")
    changed = nexus("run", "--", "sh", "-c", "rm readme.txt; mkfifo readme.txt")

    assert "left out: pipe" in nexus.ok("replay", added)
    assert changed.returncode == 1
    assert "refused for 'readme.txt'" in changed.stdout


def test_a_run_keeps_its_log_out_of_the_reach_of_its_agent(nexus: Nexus, project: Path) -> None:
    log = str(folder(project, "*") / "events.jsonl").replace(" ", "\\ ")

    run = begun(nexus, f"cat '{project}/.git/HEAD' && echo > reached; echo x >> {log}; echo > new", status=ASKED)

    assert "reached" not in nexus.ok("diff", run)
    nexus.ok("replay", run, "--verify")


def test_cancelling_a_run_ends_the_agent_that_works_for_it(nexus: Nexus, project: Path) -> None:
    with at_work(project, "run", "--", "sh", "-c", "echo ready; exec sleep 600") as (child, said):
        read_until(said, "ready")
        (run,) = listed(nexus)

        nexus.ok("cancel", run)
        status = child.wait()

    assert status != 0
    assert listed(nexus)[run]["status"] == "cancelled"
    assert json.loads(nexus.ok("resume", run, "--json"))["run"]["status"] == "cancelled"


def test_an_agent_that_is_not_there_makes_no_run(nexus: Nexus, project: Path) -> None:
    nexus("run", "--", "no-such-program")

    assert listed(nexus) == {}


def test_what_a_killed_attempt_left_is_set_aside_and_the_agent_begins_on_the_files_of_its_base(
    nexus: Nexus, project: Path
) -> None:
    script = "echo more >> readme.txt; echo x > half; if test -e wait/here; then echo ready; exec sleep 600; fi"
    (project / "wait").mkdir()
    (project / "wait" / "here").write_text("")
    run_git(project, "add", ".")
    run_git(project, "commit", "-qm", "wait")
    with at_work(project, "run", "--", "sh", "-c", script) as (_, said):
        read_until(said, "ready")
    (run,) = listed(nexus)
    stopped = listed(nexus)[run]["status"]
    run_git(project, "update-ref", f"refs/heads/nexus/{run}", "HEAD~1")

    assert nexus("resume", run).returncode == ASKED
    nexus.ok("approve", "--unseen", run)

    (left,) = folder(project, run).glob("left-main-1-*")
    assert stopped == "stopped"
    assert (left / "readme.txt").read_text() == "hello\nmore\n"
    assert run_git(project, "show", f"nexus/{run}:readme.txt") == "hello\nmore\n"


def test_the_mode_that_asks_nobody_is_refused_unless_enabled_and_told_where_it_is(nexus: Nexus, project: Path) -> None:
    refused = nexus("run", "--mode", "bypass", "--", "sh", "-c", "echo x > new")
    assert (refused.returncode, "mode.bypass" in nexus.ok("replay", *listed(nexus))) == (20, True)

    (home_folder() / "settings.json").write_text('{"policy": {"bypass": true}}')
    done = nexus.ok("run", "--mode", "bypass", "--", "sh", "-c", "echo x > new")

    assert done.startswith("mode bypass: nobody is asked\n")


def test_a_run_that_was_put_away_is_listed_only_with_all(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, "true", status=0)
    before = nexus.ok("runs")

    nexus.ok("clean")

    assert before.startswith(f"nexus/{run}  completed ")
    assert nexus.ok("runs") == "No runs. git nexus run PROMPT or git nexus run -- CMD starts one.\n"
    assert nexus.ok("runs", "--all").startswith(f"{run}  completed ")


def test_who_interrupts_a_run_hears_how_to_go_on_with_it(project: Path) -> None:
    with at_work(project, "run", "--", "sh", "-c", "echo begun; sleep 60") as (child, said):
        run = said.readline().split(" ")[0]
        assert said.readline() == "  │ begun\n"

        os.kill(child.pid, signal.SIGINT)

        last = said.read().splitlines()
        assert last[0] == f"{run} stopped: git nexus resume {run} continues it, git nexus cancel {run} ends it"
        assert child.wait() == 130


def test_the_log_tells_once_that_a_run_landed(nexus: Nexus, project: Path) -> None:
    run = approved(nexus)
    nexus.ok("land", run)
    nexus.ok("land", run)

    (told,) = events(project, run, "run.landed")
    assert told == {"commit": run_git(project, "rev-parse", "HEAD").strip(), "into": "main", "how": "merge"}
    assert listed(nexus)[run]["status"] == "landed"
    nexus.ok("replay", run, "--verify")
    nexus.ok("clean", run)


def test_a_prompt_before_a_command_names_the_run_and_is_what_the_command_reads(nexus: Nexus, project: Path) -> None:
    done = nexus("run", "say it again", "--", "cat")

    (run,) = listed(nexus)
    assert (done.returncode, record(project, run)["title"]) == (0, "say it again")
    assert "│ say it again" in done.stderr


def test_a_cancellation_that_was_killed_after_it_was_logged_is_finished_by_the_same_command(
    nexus: Nexus, project: Path
) -> None:
    run = begun(nexus)
    nexus.ok("cancel", run)
    state = State.open(project)
    update_run(state, run, lambda before: before.changed(status="waiting", ended=""), "as a kill leaves it")
    state.close()

    assert f"{run} cancelled" in nexus.ok("cancel", run)

    assert record(project, run)["status"] == "cancelled"
    assert nexus("cancel", run).returncode == 1
