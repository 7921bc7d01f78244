"""Checkpoints: a run's definition, log and artifacts as a commit on `refs/nexus/runs/<run>`.

The log lies there in pieces of whole lines, so that a checkpoint writes the last piece and not all of it:

    workflow.json            the definition, as it was when the run began
    head.json                up to which event and byte the log is here
    events/0001.jsonl …      the log; put together they are the very bytes of the local file
    artifacts/<sha256>
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gitnexus.base.canonical import document
from gitnexus.base.chance import fraction
from gitnexus.base.errors import Busy, NotFound, VerificationFailed
from gitnexus.base.record import StoredRecord
from gitnexus.events.anchor import Anchor
from gitnexus.events.artifacts import FOLDER as ARTIFACTS
from gitnexus.events.artifacts import Artifacts, file_name, same
from gitnexus.events.chain import Head, Link, walk
from gitnexus.events.log import RunLog
from gitnexus.events.model import checked_run, definition_hash, digest
from gitnexus.git import Author, Entry, Objects, RefLocked

PIECE = 1024 * 1024
_WORKFLOW, _HEAD, _EVENTS = "workflow.json", "head.json", "events"
_PATIENCE = 10.0


class CheckpointHead(StoredRecord):
    """Up to where the log is on the ref; `start` is the byte that its last piece begins with."""

    run: str
    seq: int
    digest: str
    bytes: int
    pieces: int
    start: int


class Checkpoint(NamedTuple):
    """A run as its ref holds it; `raw` makes it a log that can be verified like the one on the disk."""

    objects: Objects
    run: str
    commit: str
    tree: str
    head: CheckpointHead

    @property
    def anchor(self) -> Anchor:
        """What the ref knows of the log."""
        return Anchor(self.head.seq, self.head.digest, ref_of(self.run))

    def workflow(self) -> bytes:
        """Return the definition as it was written."""
        return _read(self.objects, self.tree, _WORKFLOW)

    def names(self, folder: str) -> Mapping[str, Entry]:
        """Return what is in a folder of the ref."""
        entry = self.objects.find(self.tree, folder)
        return self.objects.entries(entry.oid) if entry is not None and entry.is_folder else {}

    def raw(self) -> bytes:
        """Return the log. Raises: VerificationFailed if a piece is missing or what they make is not what it was."""
        rows = {f"{_EVENTS}/{name}": entry for name, entry in self.names(_EVENTS).items() if entry.is_file}
        pieces = [_piece(number) for number in range(1, min(self.head.pieces, len(rows) + 1) + 1)]
        missing = [name for name in pieces if name not in rows]
        raw = b"" if missing else b"".join(self.objects.blobs([rows[name].oid for name in pieces]))
        if len(raw) != self.head.bytes:
            raise VerificationFailed(f"{ref_of(self.run)} lacks a part of the log: {(missing or pieces)[0]}")
        return raw

    def artifact(self, digest: str) -> bytes:
        """Return an artifact, hashed again. Raises: NotFound, VerificationFailed."""
        return same(digest, _read(self.objects, self.tree, f"{ARTIFACTS}/{file_name(digest)}"))


def ref_of(run: str) -> str:
    """Return the ref of a run. Raises: Invalid."""
    return f"refs/nexus/runs/{checked_run(run)}"


def load(objects: Objects, run: str) -> Checkpoint | None:
    """Return the newest checkpoint of a run, None if there is none. Raises: Invalid for one that does not parse."""
    tip = objects.tip(ref_of(run))
    if tip is None:
        return None
    tree = objects.tree_of(tip)
    head = CheckpointHead.from_bytes(_read(objects, tree, _HEAD), f"{ref_of(run)}:{_HEAD}")
    if head.run != run or not 0 <= head.start <= head.bytes or head.pieces < 1:
        raise VerificationFailed(f"{ref_of(run)} holds another run, or one that was tampered with")
    return Checkpoint(objects, run, tip, tree, head)


def checkpoint(log: RunLog, workflow: Mapping[str, Any], objects: Objects, author: Author) -> Checkpoint:
    """Put the log as it is now on the run's ref, and tell of it in the log. Nothing new: nothing is written.

    Raises: Busy, NotFound, VerificationFailed where the log does not continue what the ref holds.
    """
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        before = load(objects, log.run)
        raw = log.raw()
        head = _head_of(raw, log.run, workflow, before)
        if before is not None and head == before.head:
            return before
        files = _events(raw, head, before) | _artifacts(log, before) | {_HEAD: head.to_bytes()}
        if before is None:
            files[_WORKFLOW] = document(dict(workflow))
        written = _published(objects, head, before, files, author)
        if written is not None:
            body = {"commit": written.commit, "upto": head.seq, "head": head.digest}
            log.append("run.checkpointed", "nexus", body)
            return written
        time.sleep(0.02 * fraction())
    raise Busy(f"others kept writing {ref_of(log.run)}", hint="run the command again")


def _head_of(raw: bytes, run: str, workflow: Mapping[str, Any], before: Checkpoint | None) -> CheckpointHead:
    """Return up to where the log can be put on the ref: the same as before if only the telling of that is new."""
    if before is None:
        links = list(walk(raw, run))
        if not links:
            raise NotFound(f"the log of {run} is empty", hint="a run begins with an event")
        if links[0].event.body["definition"] != definition_hash(workflow):
            raise VerificationFailed(f"{run} began with another definition than this", hint="a run keeps its own")
        last = links[-1]
        return _headed(run, last, last.end, _bounds(raw, 0, last.end), 0)
    if before.workflow() != document(dict(workflow)):
        raise VerificationFailed(f"{before.anchor.where} holds another definition", hint="a run keeps its own")
    known = before.head
    line = raw[raw.rfind(b"\n", 0, max(known.bytes - 1, 0)) + 1 : known.bytes]
    if digest(line[:-1]) != known.digest:
        raise VerificationFailed(
            f"the log of {run} does not continue what {before.anchor.where} holds: it was cut or changed",
            hint="the ref keeps what it has",
            context={"run": run, "line": known.seq},
        )
    links = list(walk(raw[known.bytes :], run, Head(known.seq, known.digest)))
    if all(link.event.kind == "run.checkpointed" for link in links):
        return known
    end = known.bytes + links[-1].end
    return _headed(run, links[-1], end, _bounds(raw, known.start, end), known.pieces - 1)


def _headed(run: str, last: Link, end: int, bounds: Sequence[int], whole: int) -> CheckpointHead:
    """`bounds` are where the pieces begin that are new or grow, `whole` how many there are before them."""
    return CheckpointHead(
        run=run, seq=last.event.seq, digest=last.digest, bytes=end, pieces=whole + len(bounds), start=bounds[-1]
    )


def _bounds(raw: bytes, start: int, end: int) -> list[int]:
    """Return where pieces begin: each ends with the first line that makes it full, whenever it was written."""
    bounds = [start]
    while end - start > PIECE:
        start = raw.index(b"\n", start + PIECE - 1) + 1
        if start < end:
            bounds.append(start)
    return bounds


def _events(raw: bytes, head: CheckpointHead, before: Checkpoint | None) -> dict[str, bytes | None]:
    bounds = _bounds(raw, before.head.start if before else 0, head.bytes)
    first = head.pieces - len(bounds) + 1
    ends = [*bounds[1:], head.bytes]
    return {_piece(first + at): raw[bounds[at] : ends[at]] for at in range(len(bounds))}


def _artifacts(log: RunLog, before: Checkpoint | None) -> dict[str, bytes | None]:
    """Return the artifacts that the ref does not have yet, each hashed again."""
    held = before.names(ARTIFACTS) if before else {}
    kept = Artifacts(log.folder)
    wanted = [one for one in kept.names() if file_name(one) not in held]
    return {f"{ARTIFACTS}/{file_name(one)}": kept.read(one) for one in wanted}


def _published(
    objects: Objects,
    head: CheckpointHead,
    before: Checkpoint | None,
    files: Mapping[str, bytes | None],
    author: Author,
) -> Checkpoint | None:
    """Commit and swap; None to look again: somebody else was first, or a prune took what was just written."""
    ref, why = ref_of(head.run), f"runs: {head.run} up to event {head.seq}"
    parents = [before.commit] if before else []
    commit, tree = objects.write_commit(parents=parents, changes=files, message=f"{why}\n", author=author)
    try:
        if not objects.swap(ref, before.commit if before else None, commit, why):
            return None
    except RefLocked:
        return None
    if not objects.holds(commit, files):  # `git gc --prune=now` beside us: equal bytes, equal ids
        objects.write_commit(parents=parents, changes=files, message=f"{why}\n", author=author)
    return Checkpoint(objects, head.run, commit, tree, head)


def _piece(number: int) -> str:
    return f"{_EVENTS}/{number:04d}.jsonl"


def _read(objects: Objects, tree: str, path: str) -> bytes:
    entry = objects.find(tree, path)
    if entry is None or not entry.is_file:
        raise NotFound(f"the run's ref holds no {path}")
    return objects.blob(entry.oid)
