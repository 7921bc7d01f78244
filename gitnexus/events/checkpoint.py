"""Checkpoints: a run's definition, log and artifacts as a commit on `refs/nexus/runs/<run>`.

The log lies there in pieces of whole lines, so that a checkpoint writes the last piece and not all of it:

    workflow.json            the definition, as it was when the run began
    head.json                up to which event and byte the log is here
    events/0001.jsonl …      the log; put together they are the very bytes of the local file
    artifacts/<sha256>
    signatures.json          which machine wrote which part of the log
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from gitnexus.base.canonical import document
from gitnexus.base.chance import fraction
from gitnexus.base.errors import Busy, NotFound, VerificationFailed
from gitnexus.base.record import StoredRecord
from gitnexus.events.anchor import Anchor
from gitnexus.events.artifacts import FOLDER as ARTIFACTS
from gitnexus.events.artifacts import Artifacts, file_name, same
from gitnexus.events.authors import FILE as SIGNATURES
from gitnexus.events.authors import NOBODY, LogAuthors, Span, read_authors
from gitnexus.events.chain import Head, walk
from gitnexus.events.log import RunLog
from gitnexus.events.model import checked_run, definition_hash
from gitnexus.git import Author, Entry, Objects, RefLocked, blob_id

PIECE = 1024 * 1024
Along = Callable[[bytes], Sequence[str]]
# Signs what is new: who wrote the rest, and the new stretch.
Sign = Callable[[LogAuthors, Span], LogAuthors]
_WORKFLOW, _HEAD, _EVENTS = "workflow.json", "head.json", "events"
_PATIENCE = 10.0


class CheckpointHead(StoredRecord):
    """Up to where the log is on the ref; `ends` are the bytes of it at which the pieces end."""

    run: str
    seq: int
    digest: str
    ends: tuple[int, ...]


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

    def pieces(self) -> list[str]:
        """Return the blob ids of the pieces of the log, in their order. Raises: VerificationFailed."""
        rows = self.names(_EVENTS)
        found = [rows.get(_piece(at + 1)) for at in range(len(self.head.ends))]
        if len(rows) != len(found) or not all(entry is not None and entry.is_file for entry in found):
            raise VerificationFailed(f"{ref_of(self.run)} lacks a part of the log")
        return [entry.oid for entry in found if entry is not None]

    def raw(self) -> bytes:
        """Return the log. Raises: VerificationFailed."""
        raw = b"".join(self.objects.blobs(self.pieces()))
        if len(raw) != self.head.ends[-1]:
            raise VerificationFailed(f"{ref_of(self.run)} lacks a part of the log")
        return raw

    def authors(self) -> LogAuthors:
        """Return who is said to have written which part of the log; nothing of it is checked here."""
        entry = self.objects.find(self.tree, SIGNATURES)
        raw = self.objects.blob(entry.oid) if entry is not None and entry.is_file else None
        return read_authors(raw, f"{ref_of(self.run)}:{SIGNATURES}")

    def artifact(self, digest: str) -> bytes:
        """Return an artifact, hashed again. Raises: NotFound, VerificationFailed."""
        return same(digest, _read(self.objects, self.tree, f"{ARTIFACTS}/{file_name(digest)}"))


def ref_of(run: str) -> str:
    """Return the ref of a run. Raises: Invalid."""
    return f"refs/nexus/runs/{checked_run(run)}"


def load(objects: Objects, run: str) -> Checkpoint | None:
    """Return the newest checkpoint of a run, None if there is none. Raises: Invalid for one that does not parse."""
    tip = objects.tip(ref_of(run))
    return None if tip is None else at_commit(objects, run, tip)


def at_commit(objects: Objects, run: str, tip: str) -> Checkpoint:
    """Return the checkpoint that a commit holds. Raises: Invalid, NotFound, VerificationFailed."""
    tree = objects.tree_of(tip)
    head = CheckpointHead.from_bytes(_read(objects, tree, _HEAD), f"{ref_of(run)}:{_HEAD}")
    if head.run != run or not head.ends or any(end <= start for start, end in pairwise((0, *head.ends))):
        raise VerificationFailed(f"{ref_of(run)} holds another run, or one that was tampered with")
    return Checkpoint(objects, run, tip, tree, head)


def checkpoint(
    log: RunLog,
    workflow: Mapping[str, Any],
    objects: Objects,
    author: Author,
    along: Along | None = None,
    sign: Sign | None = None,
) -> Checkpoint:
    """Put the log as it is now on the run's ref, and tell of it in the log. Nothing new: nothing is written.

    `along` tells for a log which commits are to be where it is: what it proposes can be looked at in every clone.
    `sign` has this machine sign what is new since the last checkpoint.

    Raises: Busy, NotFound, VerificationFailed where the log does not continue what the ref holds.
    """
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        before = load(objects, log.run)
        log.last()  # looks at the head file: what was cut off is not passed over in silence
        raw = log.raw()
        head = _head_of(raw, log.run, workflow, before)
        if before is not None and head == before.head:
            return before
        files = _events(raw, head, before) | _artifacts(log, before) | {_HEAD: head.to_bytes()}
        if sign is not None:
            since = Span(before.head.seq, before.head.digest, head.seq, head.digest) if before else None
            span = since or Span(0, "", head.seq, head.digest)
            files[SIGNATURES] = sign(before.authors() if before else NOBODY, span).to_bytes()
        if before is None:
            files[_WORKFLOW] = document(dict(workflow))
        written = _published(objects, head, before, files, author, along(raw) if along else ())
        if written is not None:
            body = {"commit": written.commit, "upto": head.seq, "head": head.digest}
            log.append("run.checkpointed", "nexus", body)
            return written
        time.sleep(0.02 * fraction())
    raise Busy(f"others kept writing {ref_of(log.run)}", hint="run the command again")


def _head_of(raw: bytes, run: str, workflow: Mapping[str, Any], before: Checkpoint | None) -> CheckpointHead:
    """Return up to where the log can be put on the ref: the same as before if only the telling of that is new."""
    start, whole = 0, before.head.ends[:-1] if before else ()
    if before is None:
        links = list(walk(raw, run))
        if not links:
            raise NotFound(f"the log of {run} is empty", hint="a run begins with an event")
        if links[0].event.body.get("definition") != definition_hash(workflow):
            raise VerificationFailed(f"{run} began with another definition than this", hint="a run keeps its own")
    else:
        _check_continues(raw, before, workflow)
        start = before.head.ends[-1]
        links = list(walk(raw[start:], run, Head(before.head.seq, before.head.digest)))
        if all(link.event.kind == "run.checkpointed" for link in links):
            return before.head
    last = links[-1]
    ends = _ends(raw, whole[-1] if whole else 0, start + last.end)
    return CheckpointHead(run=run, seq=last.event.seq, digest=last.digest, ends=(*whole, *ends))


def _check_continues(raw: bytes, before: Checkpoint, workflow: Mapping[str, Any]) -> None:
    """Refuse a log whose beginning is not, byte for byte, what the ref holds. Raises: VerificationFailed."""
    if before.workflow() != document(dict(workflow)):
        raise VerificationFailed(f"{before.anchor.where} holds another definition", hint="a run keeps its own")
    for (start, end), oid in zip(pairwise((0, *before.head.ends)), before.pieces(), strict=True):
        # By the id that git gave them: nothing has to be read.
        if blob_id(raw[start:end], "sha256" if len(oid) == 64 else "sha1") != oid:
            raise VerificationFailed(
                f"the log of {before.run} does not continue what {before.anchor.where} holds: it was cut or changed",
                hint="the ref keeps what it has",
                context={"run": before.run, "line": before.head.seq},
            )


def _ends(raw: bytes, start: int, end: int) -> list[int]:
    """Return where pieces end: each with the first line that makes it full, the last with what there is."""
    ends = []
    while end - start > PIECE:
        start = raw.index(b"\n", start + PIECE - 1) + 1
        ends.append(start)
    return ends if ends and ends[-1] == end else [*ends, end]


def _events(raw: bytes, head: CheckpointHead, before: Checkpoint | None) -> dict[str, bytes | None]:
    """Return the pieces that are new, and the last one of before, which may have grown."""
    bounds = list(pairwise((0, *head.ends)))
    first = len(before.head.ends) - 1 if before else 0
    return {f"{_EVENTS}/{_piece(at + 1)}": raw[slice(*bounds[at])] for at in range(first, len(bounds))}


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
    along: Sequence[str],
) -> Checkpoint | None:
    """Commit and swap; None to look again: somebody else was first, or a prune took what was just written."""
    ref, why = ref_of(head.run), f"runs: {head.run} up to event {head.seq}"
    parents = [before.commit, *along] if before else []
    if before is None and along:
        empty, _ = objects.write_commit(parents=[], changes={}, message=f"{why}\n", author=author)
        parents = [empty, *along]
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
    return f"{number:04d}.jsonl"


def _read(objects: Objects, tree: str, path: str) -> bytes:
    entry = objects.find(tree, path)
    if entry is None or not entry.is_file:
        raise NotFound(f"the run's ref holds no {path}")
    return objects.blob(entry.oid)
