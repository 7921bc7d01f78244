"""What trying to break it found, one sentence each."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from gitnexus.memory import Notes
from gitnexus.memory.add import NoteDraft, add_note, compute_kept_note
from gitnexus.memory.count import rev_of_note, without_rev
from gitnexus.memory.model import MemorySettings, Note
from gitnexus.memory.rules import add_rule
from gitnexus.state import State
from tests.conftest import Nexus, run_git, trust

LOOSE = {"memory": {"gc": {"daysSinceAccess": 0, "accessesAtMost": 1}}}


def seeded(project: Path, **notes: str) -> None:
    files = {f"memory/{name.replace('_', '-')}.md": text.encode() for name, text in notes.items()}
    State.open(project).write({**files, "settings.json": json.dumps(LOOSE).encode()}, why="seed")


def test_what_a_tool_kept_in_a_clone_before_its_init_comes_into_the_state_of_its_remote(
    project: Path, tmp_path: Path
) -> None:
    run_git(tmp_path, "clone", "-q", str(project), "clone")
    clone = Nexus(tmp_path / "clone")
    clone.ok("tool", "memory_store", '{"text": "an early fact", "name": "empirical-early"}')

    said = clone.ok("init")

    assert "merged the state of this clone into the state that origin has" in said
    assert "early fact" in clone.ok("memory", "show", "empirical-early")
    assert State.open(clone.place).read("format.json") == State.open(project).read("format.json")
    assert clone.ok("doctor")


def test_what_was_read_or_changed_while_a_person_thought_is_not_forgotten(project: Path, nexus: Nexus) -> None:
    seeded(project, note_one="one\n", note_two="two\n", note_three="three\n")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project)
        os.execvp("git", ["git", "nexus", "memory", "gc"])
    asked = b""
    while b"[y/N]" not in asked:
        asked += os.read(terminal, 4096)

    nexus.ok("memory", "add", "note-one", "and something new")
    for _ in range(2):
        nexus.ok("memory", "show", "note-two")
    os.write(terminal, b"y\n")
    os.waitpid(pid, 0)
    os.close(terminal)

    assert State.open(project).snapshot.names("memory") == ["note-one.md", "note-two.md"]


def test_gc_of_named_notes_merges_no_others(project: Path, nexus: Nexus) -> None:
    same = "The staging deploy needs the migration flag and a warm cache before traffic moves.\n"
    seeded(project, pattern_staging_deploy=same, pattern_deploy_staging=same + "Always.\n", note_old="x\n")

    nexus.ok("memory", "gc", "note-old", "--merge", "--yes")

    assert State.open(project).snapshot.names("memory") == ["pattern-deploy-staging.md", "pattern-staging-deploy.md"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"memory": {"overlap": 0.0}}, "overlap should be above 0"),
        ({"catolog": {}}, "catolog is not known (did you mean catalog?)"),
        ({"of-tomorrow": {}}, "no part of git nexus reads 'of-tomorrow'"),
    ],
)
def test_doctor_looks_at_the_settings(project: Path, nexus: Nexus, settings: object, words: str) -> None:
    State.open(project).write({"settings.json": json.dumps(settings).encode()}, why="settings")

    assert words in nexus("doctor").stdout


def test_a_read_through_our_tools_is_no_proof_that_the_harness_is_observed(project: Path, nexus: Nexus) -> None:
    from gitnexus.memory.access import reads_observed_since

    seeded(project, note_old="x\n")
    nexus.ok("tool", "memory_read", '{"name": "note-old"}')

    assert reads_observed_since(Notes(State.open(project))) is None


def test_a_close_of_nothing_is_no_cycle(project: Path, nexus: Nexus) -> None:
    seeded(project, note_old="x\n")
    for _ in range(3):
        nexus.ok("cycle", "close")
    nexus.ok("tool", "task_add", '{"title": "t", "context": "c"}')
    nexus.ok("cycle", "close")

    rows = json.loads(nexus.ok("memory", "stats", "--json"))["notes"]

    assert rows[0]["cyclesUnused"] == 1


def test_bytes_that_are_no_utf_8_stay_as_they_are(project: Path, nexus: Nexus) -> None:
    state = State.open(project)
    state.write({"memory/empirical-cafe.md": b"caf\xe9 one\n", "rules/git.md": b"caf\xe9\n"}, why="seed")

    add_note(Notes(state), NoteDraft("and more", "empirical-cafe"))
    add_rule(Notes(state), "Rebase first", "git")

    assert (state.latest().read("memory/empirical-cafe.md") or b"").startswith(b"---\nrev: 1\n---\ncaf\xe9 one\n")
    assert (state.latest().read("rules/git.md") or b"").startswith(b"caf\xe9\n")
    assert json.loads(nexus.ok("memory", "show", "empirical-cafe", "--json"))["note"]["text"].startswith(
        "caf\ufffd one"
    )
    assert "caf\\xe9 one" in nexus.ok("memory", "show", "empirical-cafe")


def test_who_cannot_be_counted_can_still_read(project: Path, nexus: Nexus, tmp_path: Path) -> None:
    seeded(project, note_old="worth reading\n")
    (project / ".nexus" / "state").rmdir() if (project / ".nexus" / "state").exists() else None
    (project / ".nexus" / "state").symlink_to(tmp_path)

    shown = nexus("memory", "show", "note-old")
    told = json.loads(nexus.ok("tool", "memory_read", '{"name": "note-old"}'))

    assert (shown.returncode, shown.stdout) == (0, "worth reading\n")
    assert "the read was not counted" in shown.stderr
    assert "notCounted" in told
    assert not list(tmp_path.glob("git-nexus"))


def test_an_extension_says_what_it_was_to_be_and_can_be_undone(project: Path, nexus: Nexus) -> None:
    nexus.ok("memory", "add", "external-payment-limits", "The payment provider allows 100 requests a minute per key.")
    before = State.open(project).read("memory/external-payment-limits.md") or b""

    said = nexus.ok("memory", "add", "external-payment-quota", "The payment provider allows 200 requests a minute.")

    log = nexus.ok("memory", "log", "external-payment-limits")
    assert "with what was to be external-payment-quota" in log
    undo = said.partition("Undo: git nexus ")[2].partition("  (")[0].split()
    nexus.ok(*undo)
    after = State.open(project).read("memory/external-payment-limits.md") or b""
    assert (without_rev(after), rev_of_note(after)) == (before, 2)  # going back is a change too


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("external-github-rate-limit", "GitHub allows 5000 API requests an hour for each token."),
         ("external-gitlab-rate-limit", "GitLab allows 2000 API requests a minute for each token."), False),
        (("pattern-add-endpoint", "To add an endpoint write the route, the handler and its test."),
         ("pattern-add-command", "To add a command write the row, the handler and its test."), False),
        (("empirical-kafka-rebalance", "It takes 3 s with 12 partitions."),
         ("empirical-kafka-rebalancing-time", "Nine seconds were seen with forty."), True),
        (("external-stripe-webhooks", "They are signed."),
         ("external-stripe-webhook-retries", "They are sent again for three days."), True),
    ],
)  # fmt: skip
def test_two_things_stay_apart_and_one_stays_one(one: tuple[str, str], other: tuple[str, str], same: bool) -> None:
    kept = compute_kept_note([Note(*one)], NoteDraft(other[1], other[0]), MemorySettings(), "2026-11-16")

    assert (kept.action == "extended") == same


@pytest.mark.parametrize("text", ["We never saw a rebalance longer than 3 s.", "Never had a failure after 30 s."])
def test_a_fact_that_begins_with_never_is_a_fact(text: str) -> None:
    assert compute_kept_note([], NoteDraft(text, "empirical-x-y"), MemorySettings(), "2026-11-16").action == "created"


def test_a_file_is_looked_for_where_the_command_works(project: Path, tmp_path: Path) -> None:
    (project / "note.md").write_text("from the file")
    done = subprocess.run(
        ["git", "nexus", "-C", str(project), "memory", "add", "pattern-from-file", "--file", "note.md"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert Nexus(project)("memory", "add", "", "text").returncode == 2
    assert Nexus(project)("memory", "add", "x-y", "--file", "none.md").returncode == 4


def test_settings_that_break_a_rule_are_told_where_there_are_no_notes_too(project: Path, nexus: Nexus) -> None:
    State.open(project).write({"settings.json": b'{"memory":{"gc":{"automatic":true,"daysSinceAccess":1}}}'}, why="s")
    trust(project)

    assert nexus("memory", "stats").returncode == nexus("memory", "gc").returncode == 6
