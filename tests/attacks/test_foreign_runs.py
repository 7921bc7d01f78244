"""A run that somebody else began goes on only under this machine's policy, and after a yes to its very definition."""

import json
import time
from pathlib import Path

import pytest

from gitnexus.app import open_nexus
from gitnexus.projects.open_state import open_state
from gitnexus.runs.agent.run import lends_sign_in, model_address
from gitnexus.runs.foreign_consent import is_agreed
from gitnexus.runs.start import RunRequest
from gitnexus.sync.remote import resolve_remote
from gitnexus.tui.chat import Chat
from gitnexus.tui.model import ChatEntry
from gitnexus.ui.runs import FOREIGN
from gitnexus.workers.queue import enqueue_run
from gitnexus.workers.worker import QueueWorker
from gitnexus.workflow.run_definition import definition_from_command, definition_from_prompt
from tests.attacks.machines import Machine
from tests.conftest import run_git, trust
from tests.runs.live import ASKED
from tests.sync.two import Clone
from tests.terminal import Terminal

# Whoever works in mode acceptEdits is not asked about edits.
EDITS = b"---\nversion: 1\nedits: ['*.txt']\n---\n\n# Policy\n"


@pytest.fixture
def lenient(ada: Machine) -> Machine:
    def allow_edits() -> str:
        with ada.here():
            Clone(ada.place).write({"policy.md": EDITS})
            trust(ada.place)
        return str(ada.sync())

    ada.step("allows edits", allow_edits)
    return ada


def pushed(mallory: Machine, *options: str) -> str:
    """Let Mallory begin a run, and push it: the first that a test does."""
    run = mallory.begin_waiting_run("echo evil > evil.txt", *options)
    mallory.step("sync", lambda: str(mallory.sync()))
    return run


def test_a_foreign_run_commits_nothing_by_the_mode_of_its_author(lenient: Machine, mallory: Machine) -> None:
    run = pushed(mallory, "--mode", "acceptEdits")
    lenient.sync()

    refused = lenient("resume", run)
    other = lenient("resume", run, "--agree", "sha256:" + "0" * 64)
    with lenient.run(run) as desk:
        definition = desk.record.definition
    alone = lenient("resume", run, "--agree", definition)
    agreed = lenient("resume", run, "--agree", to_agree(lenient, run))

    assert (refused.returncode, agreed.returncode) == (ASKED, ASKED)
    assert definition in refused.stderr and '"echo evil > evil.txt"' in refused.stderr
    assert "its mode is acceptEdits; here it continues in mode default" in refused.stderr
    assert "and not what was agreed to" in other.stderr and to_agree(lenient, run) in refused.stderr
    assert "does not include the commit from which" in alone.stderr and to_agree(lenient, run) in alone.stderr
    assert lenient.json("review", run)["runs"][0]["actions"][0]["status"] == "waiting"
    assert run_git(lenient.place, "rev-list", "--count", f"HEAD..nexus/{run}").strip() == "0"


def to_agree(machine: Machine, run: str) -> str:
    """Return the hash that a machine shows before it goes on with a run."""
    told = machine("resume", run).stderr
    return told.partition("to agree to: ")[2].partition("\n")[0]


def push_job(mallory: Machine, run: str, script: str) -> str:
    """Put a script on the branch of a run, and push it."""
    run_git(mallory.place, "checkout", "-q", "--detach", f"nexus/{run}")
    (mallory.place / "job.sh").write_text(script)
    run_git(mallory.place, "add", "job.sh")
    run_git(mallory.place, "commit", "-qm", "job")
    run_git(mallory.place, "push", "-q", "origin", f"HEAD:refs/heads/nexus/{run}")
    commit = run_git(mallory.place, "rev-parse", "HEAD").strip()
    run_git(mallory.place, "update-ref", f"refs/heads/nexus/{run}", commit)
    return commit


@pytest.mark.slow
def test_a_yes_is_to_the_code_on_the_branch_too_and_a_branch_that_moved_asks_again(
    ada: Machine, mallory: Machine
) -> None:
    mallory.sync()
    run = mallory.begin(RunRequest(definition_from_command(("sh", "job.sh")), "a job"))
    mallory.sync()
    good = push_job(mallory, run, "echo good > out.txt\n")
    ada.sync()
    shown = ada("resume", run).stderr
    seen = to_agree(ada, run)
    evil = push_job(mallory, run, "echo evil > out.txt\n")
    ada.sync()

    refused = ada("resume", run, "--agree", seen)
    agreed = ada("resume", run, "--agree", to_agree(ada, run))
    later = push_job(mallory, run, "echo worse > out.txt\n")
    ada.sync()
    again = ada("resume", run)

    assert f"branch nexus/{run} at {good}" in shown and "\n  base " in shown
    assert refused.returncode != 0 and f"{evil[:12]} is sha256:" in refused.stderr
    assert agreed.returncode == ASKED and "a1" in agreed.stdout
    assert again.returncode == ASKED and f"at {later}" in again.stderr


def test_a_commit_of_this_machine_does_not_take_the_yes_away(ada: Machine, mallory: Machine) -> None:
    mallory.sync()
    run = mallory.begin(RunRequest(definition_from_command(("sh", "-c", "echo one > one.txt")), "nothing"))
    mallory.sync()
    ada.sync()
    ada("resume", run, "--agree", to_agree(ada, run))
    ada.ok("approve", "--unseen", run)

    with ada.run(run) as desk:
        assert run_git(ada.place, "rev-list", "--count", f"HEAD..nexus/{run}").strip() == "1"
        assert is_agreed(desk)


@pytest.mark.slow
def test_a_foreign_run_is_marked_wherever_it_is_shown(lenient: Machine, mallory: Machine) -> None:
    run = pushed(mallory)
    lenient.sync()
    own = lenient.json("run", "--", "sh", "-c", "echo one > one.txt")["run"]["id"]

    rows = {row["id"]: row["foreign"] for row in lenient.json("runs")["runs"]}
    reviewed = {row["run"]["id"]: row["run"]["foreign"] for row in lenient.json("review")["runs"]}
    theirs, mine = lenient("review", run).stdout, lenient("review", own).stdout
    told = [json.loads(line) for line in lenient("replay", run, "--json").stdout.splitlines()]

    assert rows == reviewed == {run: True, own: False}
    assert ("foreign: somebody else started it" in theirs, "foreign" in mine) == (True, False)
    assert "foreign, claimed  sh -c echo evil" in lenient.ok("runs")
    assert "somebody else started this run" in lenient.ok("replay", run)
    assert all(line["foreign"] is True for line in told)
    assert not any("foreign" in json.loads(line) for line in lenient.ok("replay", own, "--json").splitlines())


@pytest.mark.slow
def test_status_marks_foreign_runs_and_agrees_with_runs(ada: Machine, mallory: Machine) -> None:
    asking = pushed(mallory)
    run = mallory.begin(RunRequest(definition_from_command(("true",)), "nothing"))
    mallory.sync()
    ada.sync()

    for _ in range(2):  # before and after the run was looked at here
        told = ada.json("status")
        listed = {row["id"]: row["status"] for row in ada.json("runs")["runs"]}
        assert listed == {run: "running", asking: "waiting"}
        assert told["runs"] == told["foreignRuns"] == {"running": 1, "waiting": 1}
        assert told["next"][0] == "git nexus review shows what waits for your answer (1 foreign)"
        assert not any("continues it" in step for step in told["next"])
        assert "1 running (1 foreign), 1 waiting (1 foreign)" in ada.ok("status")
        ada("resume", run)


@pytest.mark.slow
def test_the_chat_marks_a_foreign_run_in_words_on_its_card_and_in_the_panel(lenient: Machine, mallory: Machine) -> None:
    run = pushed(mallory)
    own = lenient.json("run", "--", "sh", "-c", "echo one > one.txt")["run"]["id"]
    lenient.sync()
    lenient("resume", run, "--agree", to_agree(lenient, run))
    with lenient.here():
        chat = Chat(open_nexus(lenient.place), lenient.place)
        try:
            said = [update.text for update in chat.look() if isinstance(update, ChatEntry)]
            panel = [line.text for _, lines in chat.panel().parts for line in lines]
            facts = {card.run: card for card in chat.cards.values()}
        finally:
            chat.close()

    assert [words for words in said if "foreign" in words] == [f"{run} is {FOREIGN}"]
    assert [(run in line, own in line) for line in panel if "foreign" in line] == [(True, False)]
    assert ["foreign" in repr(facts[one]) for one in (run, own) if one in facts] == [True, False]


def test_a_foreign_run_hands_no_key_to_an_address_of_its_author(ada: Machine, mallory: Machine) -> None:
    made = definition_from_prompt("do it", "claude")
    node = made.nodes[0].changed(address="https://mallory.example/v1", sign_in=True)
    mallory.sync()
    run = mallory.begin(RunRequest(made.changed(nodes=(node,)), "do it"))
    with mallory.run(run) as desk:
        there = model_address(desk, node), lends_sign_in(desk, node)
    mallory.sync()
    ada.sync()

    shown = ada("resume", run).stderr
    with ada.run(run) as desk:
        here = model_address(desk, node), lends_sign_in(desk, node)

    assert there == ("https://mallory.example/v1", True)
    assert here == ("", False)
    assert 'its model\'s address "https://mallory.example/v1" is not used' in shown
    assert "your sign-in is not lent because it says so" in shown


def test_a_definition_that_was_agreed_to_is_not_asked_about_again_and_another_is(
    ada: Machine, mallory: Machine
) -> None:
    mallory.sync()
    run = mallory.begin(RunRequest(definition_from_command(("true",)), "nothing"))
    mallory.sync()
    ada.sync()

    first = ada("resume", run, "--agree", to_agree(ada, run))
    again = ada("resume", run)

    assert (first.returncode, again.returncode) == (0, 0)
    assert "somebody else" not in again.stderr


def test_a_yes_to_an_action_starts_nothing_of_a_definition_that_nobody_agreed_to(
    lenient: Machine, mallory: Machine
) -> None:
    run = pushed(mallory)
    lenient.sync()

    approved = lenient("approve", "--unseen", run)

    assert approved.returncode == 0, approved.stderr
    assert lenient.json("runs", "--all")["runs"][0]["status"] == "completed"  # all of its steps were through


def test_a_foreign_run_is_not_given_to_a_worker_under_your_signature(ada: Machine, mallory: Machine) -> None:
    mallory.sync()
    run = mallory.begin(RunRequest(definition_from_command(("true",)), "nothing"))
    mallory.sync()
    ada.sync()

    handed = ada("resume", run, "--queue")

    assert handed.returncode == ASKED
    assert ada.json("queue")["queue"] == []


def test_a_worker_carries_out_what_an_approver_ordered_and_no_more_freely_than_its_owner_does(
    lenient: Machine, hub: Path
) -> None:
    bob = Machine(hub, "bob")
    bob.consent()
    bob.sync()
    (bob.home / "policy.md").write_bytes(b"---\nversion: 1\nmode: default\n---\n")
    with lenient.here():
        state = open_state(lenient.place)
        made = definition_from_command(("sh", "-c", "echo one > one.txt")).changed(mode="acceptEdits")
        order = enqueue_run(
            state, resolve_remote(state, None), RunRequest(made, "make a file", mode="acceptEdits"), (), ""
        )
        state.close()
    said: list[str] = []
    with bob.here():
        state = open_state(bob.place)
        QueueWorker(state, resolve_remote(state, None), "w", frozenset(), said.append, 5, 0.05, True).work()
        state.close()

    row = next(row for row in bob.json("runs", "--all")["runs"] if row["id"] == order.id)

    assert (row["foreign"], row["mode"], row["status"]) == (True, "default", "waiting"), said


@pytest.mark.parametrize(
    ("word", "ran"), [("yes", True), ("y", False), pytest.param("no", False, marks=pytest.mark.slow)]
)
def test_at_a_terminal_the_whole_definition_is_shown_before_the_question(
    ada: Machine, mallory: Machine, word: str, ran: bool
) -> None:
    mallory.sync()
    run = mallory.begin(RunRequest(definition_from_command(("sh", "-c", f"true {'x' * 3000} end\x1b[2J")), "harmless"))
    mallory.sync()
    ada.sync()

    with ada.here():
        terminal = Terminal(ada.place, "git", "nexus", "resume", run)
    while "[yes/no]" not in terminal.drawn and terminal.read(time.monotonic() + 60):
        pass
    terminal.write(f"{word}\n")
    while terminal.read(time.monotonic() + 60):
        pass
    terminal.wait()

    shown = terminal.drawn.partition("Continue it here")[0]
    assert f"{'x' * 3000} end\\u001b[2J" in shown
    with ada.run(run) as desk:
        assert ("main" in desk.view().nodes) is ran


def test_a_run_that_has_no_commit_yet_is_reviewed_where_an_archive_of_the_month_holds_its_base(
    ada: Machine, mallory: Machine
) -> None:
    ended = ada.begin_waiting_run("echo one > one.txt")
    ada.ok("approve", "--unseen", ended)
    ada.ok("land", ended)
    ada.ok("clean", "--force", ended)
    ada.sync()
    asking = mallory.begin_waiting_run("echo two > two.txt")
    mallory.sync()

    ada.sync()

    assert "│ +two" in ada("review", asking).stdout
