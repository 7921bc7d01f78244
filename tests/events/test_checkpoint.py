"""Checkpoints: the run on its ref, in pieces, by compare-and-swap, and never over a log that was changed."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.events import Artifacts, RunLog, verify_log
from gitnexus.events import checkpoint as checkpoints
from gitnexus.events.checkpoint import load_checkpoint, ref_of_run, write_checkpoint
from gitnexus.events.log import EventDraft
from gitnexus.git import Author, Objects, discover, open_objects
from tests.conftest import run_git
from tests.events.scene import RUN, WORKFLOW, begun, says

AUTHOR = Author("Test Person", "test@example.com", 1_767_225_600)
REF = f"refs/nexus/runs/{RUN}"


@pytest.fixture(params=["short", "long"])
def objects(repository: Path, request: pytest.FixtureRequest) -> Iterator[Objects]:
    found = open_objects(discover(repository), request.param)
    yield found
    found.close()


@pytest.fixture
def log(repository: Path) -> RunLog:
    return begun(discover(repository).common_dir / "nexus", 5)


def test_a_checkpoint_holds_definition_log_and_artifacts_and_the_log_tells_of_it(
    log: RunLog, objects: Objects, repository: Path
) -> None:
    before = log.raw()
    ref = Artifacts(log.folder).write("a.diff", b"+ line\n")

    made = write_checkpoint(log, WORKFLOW, objects, AUTHOR)

    found = load_checkpoint(objects, RUN)
    assert found is not None
    assert found.commit == made.commit == run_git(repository, "rev-parse", REF).strip()
    assert found.raw() == before
    assert found.artifact(ref.digest) == b"+ line\n"
    assert list(log.read())[-1].body == {"commit": made.commit, "upto": 5, "head": found.head.digest}
    assert run_git(repository, "ls-tree", "-r", "--name-only", REF).split() == [
        f"artifacts/{ref.digest[7:]}",
        "events/0001.jsonl",
        "head.json",
        "workflow.json",
    ]
    assert verify_log(log, [found.anchor]).events == 6
    assert verify_log(found, [found.anchor]).events == 5
    assert "error" not in run_git(repository, "fsck", "--strict")


def test_a_checkpoint_with_nothing_new_writes_nothing(log: RunLog, objects: Objects) -> None:
    first = write_checkpoint(log, WORKFLOW, objects, AUTHOR)
    before = log.raw()

    assert write_checkpoint(log, WORKFLOW, objects, AUTHOR).commit == first.commit
    assert log.raw() == before


def test_the_log_lies_in_pieces_of_whole_lines_and_full_ones_are_not_written_again(
    log: RunLog, objects: Objects, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "PIECE", 3000)
    pieces: list[list[str]] = []
    for _ in range(4):
        log.append_many([EventDraft("agent.progress", "agent:x", {"text": "y" * 500})] * 6)
        whole = log.raw()
        made = write_checkpoint(log, WORKFLOW, objects, AUTHOR)
        assert made.raw() == whole
        pieces.append(run_git(repository, "ls-tree", "-r", REF, "events/").splitlines())

    assert len(pieces[-1]) > 4
    for before, after in pairwise(pieces):
        assert before[:-1] == after[: len(before) - 1]
    rows = run_git(repository, "ls-tree", "--name-only", REF, "events/").split()
    shown = [run_git(repository, "cat-file", "blob", f"{REF}:{name}") for name in rows]
    assert all(text.endswith("\n") for text in shown)
    assert all(3000 <= len(text) < 6000 for text in shown[:-1])


def test_pieces_are_the_same_whenever_a_checkpoint_was_made(
    log: RunLog, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "PIECE", 700)
    for _ in range(6):
        says(log, "z" * 300)
        made = write_checkpoint(log, WORKFLOW, objects, AUTHOR)

    raw = made.raw()
    assert list(made.head.ends) == checkpoints._piece_ends(raw, 0, len(raw))
    assert len(made.head.ends) > 2


def test_half_a_line_stays_out_of_a_checkpoint(log: RunLog, objects: Objects) -> None:
    whole = log.raw()
    with log.path.open("ab") as handle:
        handle.write(b"half")

    assert write_checkpoint(log, WORKFLOW, objects, AUTHOR).raw() == whole


def test_a_log_that_does_not_continue_the_ref_is_refused_and_the_ref_stays(log: RunLog, objects: Objects) -> None:
    made = write_checkpoint(log, WORKFLOW, objects, AUTHOR)
    lines = log.path.read_bytes().splitlines(keepends=True)

    for damaged in (b"".join(lines[:3]), b"", b"".join(lines[:4]) + lines[5], b"x" * 5000):
        log.path.write_bytes(damaged)
        with pytest.raises(VerificationFailed):
            write_checkpoint(RunLog(log.folder), WORKFLOW, objects, AUTHOR)

    assert objects.tip(REF) == made.commit


def test_another_definition_than_the_one_the_run_began_with_is_refused(log: RunLog, objects: Objects) -> None:
    other = {**WORKFLOW, "nodes": []}

    with pytest.raises(VerificationFailed, match="another definition"):
        write_checkpoint(log, other, objects, AUTHOR)
    write_checkpoint(log, WORKFLOW, objects, AUTHOR)
    says(log)
    with pytest.raises(VerificationFailed, match="another definition"):
        write_checkpoint(log, other, objects, AUTHOR)


def test_two_who_write_checkpoints_at_once_both_succeed(log: RunLog, objects: Objects) -> None:
    class Beaten:
        """Objects whose first swap comes after somebody else's."""

        def __init__(self) -> None:
            self.first = True

        def __getattr__(self, name: str) -> object:
            return getattr(objects, name)

        def swap(self, ref: str, old: str | None, new: str | None, why: str) -> bool:
            if self.first:
                self.first = False
                write_checkpoint(RunLog(log.folder), WORKFLOW, objects, AUTHOR)
                says(RunLog(log.folder))
            return objects.swap(ref, old, new, why)

    made = write_checkpoint(log, WORKFLOW, Beaten(), AUTHOR)  # type: ignore[arg-type]

    assert made.head.seq == 7
    assert verify_log(log, [made.anchor]).events == 8


def test_a_ref_that_a_stranger_wrote_is_refused(objects: Objects) -> None:
    def pushed(files: Mapping[str, bytes | None]) -> None:
        commit, _ = objects.write_commit(parents=[], changes=files, message="x\n", author=AUTHOR)
        assert objects.swap(REF, objects.tip(REF), commit, "pushed")

    head = b'{"digest":"x","ends":%s,"run":"%s","seq":1}\n'
    pushed({"readme": b"x"})
    with pytest.raises(NotFound):
        load_checkpoint(objects, RUN)
    for ends, run in ((b"[3]", b"another"), (b"[]", RUN.encode()), (b"[3,3]", RUN.encode()), (b"[-1]", RUN.encode())):
        pushed({"head.json": head % (ends, run)})
        with pytest.raises(VerificationFailed, match="another run"):
            load_checkpoint(objects, RUN)
    for ends in (b"[9]", b"[1,3]", b"[3,6,9]"):
        pushed({"head.json": head % (ends, RUN.encode()), "events/0001.jsonl": b"{}\n"})
        found = load_checkpoint(objects, RUN)
        assert found is not None
        with pytest.raises(VerificationFailed, match="lacks a part"):
            found.raw()


def test_a_log_whose_middle_was_changed_never_reaches_the_ref(
    log: RunLog, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "PIECE", 500)
    made = write_checkpoint(log, WORKFLOW, objects, AUTHOR)
    says(log)
    log.path.write_bytes(log.raw().replace(b"looking around", b"leaving things"))

    with pytest.raises(VerificationFailed, match="cut or changed"):
        write_checkpoint(log, WORKFLOW, objects, AUTHOR)
    assert objects.tip(REF) == made.commit


def test_the_ref_of_a_run_is_below_our_own_and_nowhere_else() -> None:
    assert ref_of_run(RUN) == REF


def test_an_empty_log_has_no_checkpoint(tmp_path: Path, objects: Objects) -> None:
    log = RunLog(tmp_path / RUN)
    log.folder.mkdir()
    log.path.write_bytes(b"")

    with pytest.raises(NotFound, match="is empty"):
        write_checkpoint(log, WORKFLOW, objects, AUTHOR)


@pytest.mark.parametrize("life", ["short", "long"])
def test_a_repository_with_longer_ids_has_checkpoints_too(tmp_path: Path, life: Literal["short", "long"]) -> None:
    run_git(tmp_path, "init", "-q", "--object-format=sha256", "project")
    objects = open_objects(discover(tmp_path / "project"), life)
    log = begun(tmp_path, 5)
    first = write_checkpoint(log, WORKFLOW, objects, AUTHOR)
    says(log)

    second = write_checkpoint(log, WORKFLOW, objects, AUTHOR)

    assert len(second.commit) == 64
    assert (first.head.seq, second.head.seq) == (5, 7)
    assert second.raw().startswith(first.raw())
    objects.close()
