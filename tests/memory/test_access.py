"""Counting reads: exact, whatever else is in the file, and from many processes."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.memory import Notes
from gitnexus.memory.access import read_note_uses, record_note_reads, with_reads_added
from gitnexus.memory.model import NoteUse
from gitnexus.state import State
from tests.conftest import Nexus, run_git
from tests.forked import ForkedPython

MOMENT = "2026-11-16T10:00:00.000000Z"


def rows(raw: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in raw.splitlines()]


def test_the_first_read_makes_a_line_and_the_next_counts_it_up() -> None:
    once = with_reads_added(b"", ["/p/.nexus/memory/a.md"], MOMENT, "engineer")
    twice = with_reads_added(once, ["/p/.nexus/memory/a.md", "/p/.nexus/memory/b.md"], "2026-11-17T00:00:00Z", "tester")

    assert rows(once) == [
        {"path": "/p/.nexus/memory/a.md", "last_accessed_ts": MOMENT, "access_count": 1, "last_agent": "engineer",
         "schema_version": "1.0"}
    ]  # fmt: skip
    assert [(row["path"], row["access_count"], row["last_agent"]) for row in rows(twice)] == [
        ("/p/.nexus/memory/a.md", 2, "tester"),
        ("/p/.nexus/memory/b.md", 1, "tester"),
    ]


@given(st.lists(st.sampled_from(["/a.md", "/b.md", "/ü c.md"]), max_size=30), st.binary(max_size=40))
def test_counts_are_exact_and_foreign_lines_stay(reads: list[str], foreign: bytes) -> None:
    log = foreign + b"\n" if foreign else b""
    for path in reads:
        log = with_reads_added(log, [path], MOMENT, "x")

    counted = {row["path"]: row["access_count"] for row in map(_parsed, log.splitlines()) if row}
    assert {path: reads.count(path) for path in set(reads)} == {k: v for k, v in counted.items() if k in reads}
    assert all(line in log for line in foreign.split(b"\n"))


def _parsed(line: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "path" in value else None


def test_reads_of_all_harnesses_and_worktrees_are_summed(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_git(project, "worktree", "add", "-q", str(other))
    for place, harness, reader in ((project, "claude-code", "engineer"), (other, "codex", "tester")):
        record_note_reads(Notes(State.open(place), harness=harness, reader=reader), ["pattern-x"])

    found = read_note_uses(Notes(State.open(project)))

    assert list(found) == ["pattern-x"]
    assert (found["pattern-x"].count, found["pattern-x"].reader) == (2, "tester")


def test_a_log_that_is_a_link_is_neither_followed_nor_replaced(project: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside.jsonl"
    aside.write_text("mine\n")
    folder = project / ".nexus" / "state" / "git-nexus"
    folder.mkdir(parents=True)
    (folder / "memory-access.jsonl").symlink_to(aside)

    from gitnexus.base.errors import NexusError

    with pytest.raises(NexusError):
        record_note_reads(Notes(State.open(project)), ["x"])
    assert aside.read_text() == "mine\n"
    assert read_note_uses(Notes(State.open(project))) == {}


def test_a_harness_with_a_name_that_is_a_path_is_not_written_for(project: Path) -> None:
    record_note_reads(Notes(State.open(project), harness="../../evil"), ["x"])

    assert not list(project.rglob("memory-access.jsonl"))


def test_listing_searching_and_writing_count_as_no_read(project: Path, nexus: Nexus) -> None:
    nexus.ok("memory", "add", "pattern-release", "Tag first, then publish.")
    nexus.ok("memory", "list")
    nexus.ok("memory", "search", "tag")
    nexus.ok("memory", "stats")
    nexus.ok("memory", "prime")
    nexus.ok("memory", "gc", "--dry-run")
    nexus.ok("tool", "memory_search", '{"query": "tag"}')
    nexus.ok("tool", "memory_list")
    assert read_note_uses(Notes(State.open(project))) == {}

    nexus.ok("memory", "show", "pattern-release")
    nexus.ok("tool", "memory_read", '{"name": "pattern-release"}')

    use = read_note_uses(Notes(State.open(project)))["pattern-release"]
    assert use == NoteUse(2, use.last, "git-nexus")


@pytest.mark.parametrize("processes", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_reads_of_many_processes_are_counted_exactly(project: Path, processes: int) -> None:
    reader = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gitnexus.memory import Notes\n"
        "from gitnexus.memory.access import record_note_reads\n"
        "from gitnexus.state import State\n"
        "notes = Notes(State.open(Path(sys.argv[1])), reader=sys.argv[2])\n"
        "for number in range(100):\n"
        "    record_note_reads(notes, [f'note-{number % 3}'])\n"
    )
    running = [ForkedPython(reader, str(project), f"agent-{n}") for n in range(processes)]
    assert [process.wait() for process in running] == [0] * processes

    found = read_note_uses(Notes(State.open(project)))

    assert {name: use.count for name, use in found.items()} == {
        "note-0": 34 * processes,
        "note-1": 33 * processes,
        "note-2": 33 * processes,
    }
