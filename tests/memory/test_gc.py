"""Forgetting: signals, the one commit, and everything back byte for byte."""

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitnexus.base.errors import Duplicate, Invalid, NotFound
from gitnexus.memory import Notes
from gitnexus.memory.gc import assess_all_notes, find_duplicates, forget_automatically, forget_notes
from gitnexus.memory.model import ClosedCycle, GcThresholds, Note, NoteTimes, NoteUse, parse_memory_settings
from gitnexus.memory.restore import restore_notes
from gitnexus.memory.signals import assess_note, notes_to_forget
from gitnexus.projects.open_state import open_state
from gitnexus.state import State
from tests.conftest import Nexus, run_git, trust
from tests.rows import few_fast

TODAY = datetime(2026, 11, 16, tzinfo=UTC)
LIMITS = GcThresholds(days_since_access=90, cycles_since_access=10, accesses_at_most=2)


def ago(days: int) -> datetime:
    return TODAY - timedelta(days=days)


def test_a_fresh_note_that_nobody_read_is_no_candidate() -> None:
    found = assess_note(Note("a", "x"), NoteUse(), NoteTimes(ago(0), ago(0)), [], LIMITS, TODAY)

    assert dict(found.signals) == {"accessesAtMost": "read 0 times in all"}
    assert not found.is_candidate


def test_an_old_note_that_nobody_read_is_a_candidate_and_says_why() -> None:
    found = assess_note(
        Note("a", "x"), NoteUse(), NoteTimes(ago(400), ago(120)), [ago(n) for n in range(12)], LIMITS, TODAY
    )

    assert found.is_candidate
    assert found.why == "never read for 120 days, 12 cycles closed since, read 0 times in all"


def test_a_read_or_a_change_makes_a_note_young_again() -> None:
    read = assess_note(
        Note("a", "x"), NoteUse(9, ago(1), "e"), NoteTimes(ago(400), ago(400)), [ago(5)] * 20, LIMITS, TODAY
    )
    changed = assess_note(Note("a", "x"), NoteUse(), NoteTimes(ago(400), ago(1)), [ago(5)] * 20, LIMITS, TODAY)

    assert (read.days, read.cycles, read.is_candidate) == (1, 0, False)
    assert (changed.days, changed.cycles, changed.is_candidate) == (1, 0, False)


@pytest.mark.parametrize("missing", ["days_since_access", "cycles_since_access", "accesses_at_most"])
def test_nothing_is_forgettable_by_fewer_than_three_signals(missing: str) -> None:
    two = LIMITS.changed(**{missing: None})
    row = assess_note(Note("a", "x"), NoteUse(), NoteTimes(ago(400), ago(400)), [ago(1)] * 20, two, TODAY)

    assert len(row.signals) == 2
    assert notes_to_forget([row], two) == []


def test_every_signal_that_is_set_must_hold() -> None:
    four = LIMITS.changed(bytes_at_least=1000)
    small = assess_note(Note("a", "x"), NoteUse(), NoteTimes(ago(400), ago(400)), [ago(1)] * 20, four, TODAY)
    large = assess_note(Note("b", "x" * 1000), NoteUse(), NoteTimes(ago(400), ago(400)), [ago(1)] * 20, four, TODAY)

    assert notes_to_forget([small, large], four) == [large]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"gc": {"automatic": True}}, "at least 3 signals, 0 are set"),
        ({"gc": {"automatic": True, "daysSinceAccess": 1, "accessesAtMost": 1}}, "at least 3 signals, 2 are set"),
        ({"gc": {"daysSinceAccess": -1}}, "cannot be negative"),
        ({"gc": {"days": 1}}, "days is not known"),
        ({"overlap": 0.0}, "overlap should be above 0"),
        ({"categories": ["Two Words"]}, "one word in lower-case letters"),
    ],
)
def test_settings_that_break_a_rule_are_named(value: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        parse_memory_settings(value)


def seeded(project: Path, notes: dict[str, str], **settings: object) -> Notes:
    """A project with old notes and twelve closed cycles."""
    state = State.open(project)
    files = {f"memory/{name}.md": text.encode() for name, text in notes.items()}
    state.write({**files, "settings.json": json.dumps({"memory": settings}).encode()}, why="seed")
    trust(project)
    cycles = [ClosedCycle(datetime.now(UTC) + timedelta(days=n), f"{n}", "", "") for n in range(1, 13)]
    later = datetime.now(UTC) + timedelta(days=200)
    return Notes(open_state(project), clock=lambda: later, closed=lambda: cycles, harness="claude-code")


def test_gc_is_one_commit_that_names_files_reasons_and_the_way_back(project: Path) -> None:
    notes = seeded(project, {"external-old": "old\n", "pattern-older": "older\n", "keep-me": "kept\n"})
    before = notes.state.snapshot.commit
    rows = [row for row in assess_all_notes(notes) if row.note.name != "keep-me"]

    did = forget_notes(notes, [(row.note.name, row.why) for row in rows])

    assert run_git(project, "rev-list", "--count", f"{before}..refs/nexus/state").strip() == "1"
    assert run_git(project, "log", "-1", "--format=%B", did.commit or "").strip() == (
        "memory: forget 2 notes\n\n"
        "- memory/external-old.md: never read for 200 days, 12 cycles closed since, read 0 times in all\n"
        "  git nexus memory restore external-old\n"
        "- memory/pattern-older.md: never read for 200 days, 12 cycles closed since, read 0 times in all\n"
        "  git nexus memory restore pattern-older\n\n"
        "With plain git, for example:\n"
        f"  git show {before}:memory/external-old.md"
    )
    assert sorted(path.name for path in (project / ".nexus" / "memory").iterdir()) == ["keep-me.md"]
    assert run_git(project, "show", f"{before}:memory/external-old.md") == "old\n"


def test_what_was_forgotten_comes_back_byte_for_byte_after_a_prune_and_in_a_clone(
    project: Path, tmp_path: Path
) -> None:
    texts = {f"note-number-{chr(97 + n)}": f"# Note {n}\n\nGröße {n}\r\n\n\n" for n in range(5)}
    notes = seeded(project, texts)
    did = forget_notes(notes, [(name, "test") for name in texts])
    run_git(project, "reflog", "expire", "--expire=now", "--all")
    run_git(project, "gc", "-q", "--prune=now")
    run_git(tmp_path, "clone", "-q", str(project), "clone")
    clone = tmp_path / "clone"
    run_git(clone, "fetch", "-q", "origin", "refs/nexus/state:refs/nexus/state")

    for place in (project, clone):
        there = Notes(State.open(place))
        restore_notes(there, "note-number-b", None)
        rest = restore_notes(there, None, did.commit)

        assert rest.names == tuple(sorted(texts))
        files = State.open(place).snapshot.files("memory")
        assert files == {f"{name}.md": text.encode() for name, text in texts.items()}


def test_restoring_what_is_there_or_never_was_is_refused(project: Path) -> None:
    notes = seeded(project, {"note-here": "x\n"})

    with pytest.raises(Duplicate):
        restore_notes(notes, "note-here", None)
    with pytest.raises(NotFound):
        restore_notes(notes, "note-never", None)
    for commit in ("0" * 40, "--all", "HEAD", ""):
        with pytest.raises(NotFound):
            restore_notes(notes, None, commit)


def test_an_older_text_comes_back_by_its_commit(project: Path) -> None:
    notes = seeded(project, {"note-here": "first\n"})
    first = notes.state.snapshot.commit
    notes.state.write({"memory/note-here.md": b"second\n"}, why="edit")

    restore_notes(notes, "note-here", first)

    assert State.open(project).read("memory/note-here.md") == b"---\nrev: 1\n---\nfirst\n"


def test_near_duplicates_are_proposed_once_and_merged_without_loss(project: Path) -> None:
    one = "# Deploy\n\nThe staging deploy needs the migration flag and a warm cache before traffic moves.\n"
    two = "# Deploying\n\nBefore traffic moves, the staging deploy needs a warm cache and the migration flag set.\n"
    notes = seeded(project, {"pattern-staging-deploy": one, "pattern-deploy-staging": two, "pattern-other": "else\n"})

    close = find_duplicates(notes)
    did = forget_notes(notes, [], close)

    assert [(pair.into.name, pair.other.name) for pair in close] == [
        ("pattern-deploy-staging", "pattern-staging-deploy")
    ]
    assert did.merged == (("pattern-deploy-staging", "pattern-staging-deploy"),)
    files = State.open(project).snapshot.files("memory")
    assert sorted(files) == ["pattern-deploy-staging.md", "pattern-other.md"]
    text = files["pattern-deploy-staging.md"].decode()
    assert two.strip() in text
    assert "The staging deploy needs the migration flag" in text


AUTOMATIC = {"automatic": True, "daysSinceAccess": 90, "cyclesSinceAccess": 10, "accessesAtMost": 2}


def test_automatic_forgetting_needs_the_project_to_ask_for_it(project: Path) -> None:
    notes = seeded(project, {"note-old": "x\n"})

    assert forget_automatically(notes, lambda harness: True) is None
    assert "note-old.md" in State.open(project).snapshot.names("memory")


def test_a_harness_that_cannot_observe_reads_never_forgets_by_itself(project: Path) -> None:
    notes = seeded(project, {"note-old": "x\n"}, gc=AUTOMATIC)

    assert forget_automatically(notes, lambda harness: harness != "claude-code") is None
    assert "note-old.md" in State.open(project).snapshot.names("memory")


def test_automatic_forgetting_takes_only_what_all_signals_speak_against(project: Path) -> None:
    notes = seeded(project, {"note-old": "x\n", "note-used": "y\n"}, gc=AUTOMATIC)
    from gitnexus.memory.access import record_note_reads

    for _ in range(3):
        record_note_reads(Notes(notes.state, harness="claude-code", reader="e"), ["note-used"], by_hook=True)

    did = forget_automatically(notes, lambda harness: True)

    assert did is not None
    assert did.deleted == ("note-old",)
    assert State.open(project).snapshot.names("memory") == ["note-used.md"]


def test_gc_asks_and_does_nothing_where_nobody_can_answer(project: Path, nexus: Nexus) -> None:
    seeded(project, {"note-old": "x\n"}, gc={"daysSinceAccess": 0, "accessesAtMost": 5})

    refused = nexus("memory", "gc")
    shown = nexus.ok("memory", "gc", "--dry-run")

    assert refused.returncode == 1
    assert "nothing was deleted: 1 note could be" in refused.stderr
    assert "forget  note-old: never read for 0 days, read 0 times in all" in shown
    assert State.open(project).snapshot.names("memory") == ["note-old.md"]


def test_gc_with_yes_forgets_and_says_how_to_undo_it(project: Path, nexus: Nexus) -> None:
    seeded(project, {"note-old": "x\n"}, gc={"daysSinceAccess": 0, "accessesAtMost": 5})

    said = nexus.ok("memory", "gc", "--yes")

    assert said.startswith("Forgot 1 note in one commit.\nUndo: git nexus memory restore --from ")
    nexus.ok(*said.strip().split("git nexus ")[1].split())
    assert State.open(project).read("memory/note-old.md") == b"x\n"


@pytest.mark.parametrize("moment", few_fast([0.05, 0.11, 0.0, 0.02, 0.08, 0.15, 0.2], 2))
def test_a_gc_of_a_hundred_notes_killed_at_any_moment_is_all_or_one_commit(project: Path, moment: float) -> None:
    texts = {f"note-{chr(97 + n // 26)}{chr(97 + n % 26)}": f"text {n}\n" for n in range(100)}
    seeded(project, texts, gc={"daysSinceAccess": 0, "accessesAtMost": 5})
    before = run_git(project, "rev-parse", "refs/nexus/state").strip()
    code = "import sys; sys.argv = ['git-nexus', 'memory', 'gc', '--yes']; from gitnexus.main import main; main()"

    running = subprocess.Popen([sys.executable, "-c", code], cwd=project, stdout=subprocess.DEVNULL)
    try:
        running.wait(timeout=0.15 + moment)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGKILL)
        running.wait()

    state = State.open(project)
    added = int(run_git(project, "rev-list", "--count", f"{before}..refs/nexus/state"))
    assert (len(state.snapshot.names("memory")), added) in {(100, 0), (0, 1)}
    if added:
        restore_notes(Notes(state), None, state.snapshot.commit)
    assert State.open(project).snapshot.files("memory") == {f"{name}.md": text.encode() for name, text in texts.items()}
