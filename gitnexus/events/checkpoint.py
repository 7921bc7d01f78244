"""Writes and loads checkpoints: a run's definition, log and artifacts as a commit on `refs/nexus/runs/<run>`.

The log is stored in pieces of whole lines, so that a checkpoint writes only the last piece:

    workflow.json            the definition, as it was when the run began
    head.json                the last event and byte of the log that is stored here
    events/0001.jsonl …      the log; concatenated, these are exactly the bytes of the local file
    artifacts/<sha256>
    signatures.json          which machine wrote which part of the log
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from gitnexus.base.canonical import json_document
from gitnexus.base.errors import Busy, NexusError, NotFound, VerificationFailed
from gitnexus.base.randomness import random_fraction
from gitnexus.base.record import StoredRecord
from gitnexus.events.anchor import Anchor
from gitnexus.events.artifacts import FOLDER as ARTIFACTS
from gitnexus.events.artifacts import Artifacts, artifact_file_name, require_same_digest
from gitnexus.events.authors import FILE as SIGNATURES
from gitnexus.events.authors import NOBODY, LogAuthors, LogSpan, parse_log_authors
from gitnexus.events.chain import LogHead, walk_chain
from gitnexus.events.log import RunLog
from gitnexus.events.model import definition_hash, require_run_id
from gitnexus.git import Author, Entry, Objects, RefLocked, blob_id

PIECE = 1024 * 1024


class Proposals(NamedTuple):
    """Which commits a checkpoint stores with a log, and the digests of the artifacts that it withholds."""

    commits: Sequence[str] = ()
    withheld: frozenset[str] = frozenset()


Along = Callable[[bytes], Proposals]
# Signs what is new: who wrote the rest, and the new stretch.
Sign = Callable[[LogAuthors, LogSpan], LogAuthors]
CHECKPOINT_HEAD = "head.json"
_WORKFLOW, _EVENTS = "workflow.json", "events"
_PATIENCE = 10.0


class CheckpointHead(StoredRecord):
    """How much of the log is on the ref; `ends` are the byte offsets at which the pieces end."""

    run: str
    seq: int
    digest: str
    ends: tuple[int, ...]


class Checkpoint(NamedTuple):
    """A run as stored on its ref; `raw` returns its log, which can be verified like the one on disk."""

    objects: Objects
    run: str
    commit: str
    tree: str
    head: CheckpointHead

    @property
    def anchor(self) -> Anchor:
        """The anchor that the ref gives for the log."""
        return Anchor(self.head.seq, self.head.digest, ref_of_run(self.run))

    def workflow(self) -> bytes:
        """Return the definition as stored."""
        return _read_tree_file(self.objects, self.tree, _WORKFLOW)

    def names(self, folder: str) -> Mapping[str, Entry]:
        """Return the names in a folder of the ref."""
        entry = self.objects.find(self.tree, folder)
        return self.objects.entries(entry.oid) if entry is not None and entry.is_folder else {}

    def pieces(self) -> list[str]:
        """Return the blob ids of the pieces of the log, in order. Raises: VerificationFailed."""
        rows = self.names(_EVENTS)
        found = [rows.get(_piece_name(at + 1)) for at in range(len(self.head.ends))]
        if len(rows) != len(found) or not all(entry is not None and entry.is_file for entry in found):
            raise VerificationFailed(f"{ref_of_run(self.run)} lacks a part of the log")
        return [entry.oid for entry in found if entry is not None]

    def raw(self) -> bytes:
        """Return the log. Raises: VerificationFailed."""
        raw = b"".join(self.objects.blobs(self.pieces()))
        if len(raw) != self.head.ends[-1]:
            raise VerificationFailed(f"{ref_of_run(self.run)} lacks a part of the log")
        return raw

    def authors(self) -> LogAuthors:
        """Return the claimed authors of each part of the log; nothing is verified here."""
        entry = self.objects.find(self.tree, SIGNATURES)
        raw = self.objects.blob(entry.oid) if entry is not None and entry.is_file else None
        return parse_log_authors(raw, f"{ref_of_run(self.run)}:{SIGNATURES}")

    def artifact(self, digest: str) -> bytes:
        """Return an artifact after checking its digest. Raises: NotFound, VerificationFailed."""
        return require_same_digest(
            digest, _read_tree_file(self.objects, self.tree, f"{ARTIFACTS}/{artifact_file_name(digest)}")
        )


def ref_of_run(run: str) -> str:
    """Return the ref of a run. Raises: Invalid."""
    return f"refs/nexus/runs/{require_run_id(run)}"


def load_checkpoint(objects: Objects, run: str) -> Checkpoint | None:
    """Return the newest checkpoint of a run, None if there is none. Raises: Invalid if it does not parse."""
    tip = objects.tip(ref_of_run(run))
    return None if tip is None else checkpoint_at_commit(objects, run, tip)


def checkpoint_at_commit(objects: Objects, run: str, tip: str) -> Checkpoint:
    """Return the checkpoint stored in a commit. Raises: Invalid, NotFound, VerificationFailed."""
    return in_tree(objects, run, tip, objects.tree_of(tip))


def in_tree(objects: Objects, run: str, tip: str, tree: str) -> Checkpoint:
    """Return the checkpoint stored in a folder of a commit. Raises: Invalid, NotFound, VerificationFailed."""
    head = CheckpointHead.from_bytes(
        _read_tree_file(objects, tree, CHECKPOINT_HEAD), f"{ref_of_run(run)}:{CHECKPOINT_HEAD}"
    )
    if head.run != run or not head.ends or any(end <= start for start, end in pairwise((0, *head.ends))):
        raise VerificationFailed(f"{ref_of_run(run)} holds another run, or one that was tampered with")
    return Checkpoint(objects, run, tip, tree, head)


def continues_log(objects: Objects, run: str, tree: str, before: str) -> bool:
    """True if the log in a tree is longer than the one in another and begins with it; False if either is damaged."""
    try:
        raw, old = (in_tree(objects, run, "", one).raw() for one in (tree, before))
    except NexusError:
        return False
    return len(raw) > len(old) and raw.startswith(old)


def write_checkpoint(
    log: RunLog,
    workflow: Mapping[str, Any],
    objects: Objects,
    author: Author,
    along: Along | None = None,
    sign: Sign | None = None,
) -> Checkpoint:
    """Write the current log to the run's ref and append an event about it. Writes nothing if nothing is new.

    `along` returns for a log the commits to store with it, so that its proposals can be inspected in every clone, and
    the artifacts that stay on this machine.
    `sign` signs what is new since the last checkpoint with this machine's key.

    Raises: Busy, NotFound, VerificationFailed if the log does not continue what the ref contains.
    """
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        before = load_checkpoint(objects, log.run)
        log.last()  # looks at the head file: what was cut off is not passed over in silence
        raw = log.raw()
        head = _compute_head(raw, log.run, workflow, before)
        if before is not None and head == before.head:
            return before
        proposals = along(raw) if along else Proposals()
        files = _new_event_pieces(raw, head, before) | _new_artifacts(log, before, proposals.withheld)
        files[CHECKPOINT_HEAD] = head.to_bytes()
        if sign is not None:
            since = LogSpan(before.head.seq, before.head.digest, head.seq, head.digest) if before else None
            span = since or LogSpan(0, "", head.seq, head.digest)
            files[SIGNATURES] = sign(before.authors() if before else NOBODY, span).to_bytes()
        if before is None:
            files[_WORKFLOW] = json_document(dict(workflow))
        written = _publish_checkpoint(objects, head, before, files, author, proposals.commits)
        if written is not None:
            body = {"commit": written.commit, "upto": head.seq, "head": head.digest}
            log.append("run.checkpointed", "nexus", body)
            return written
        time.sleep(0.02 * random_fraction())
    raise Busy(f"others kept writing {ref_of_run(log.run)}", hint="run the command again")


def _compute_head(raw: bytes, run: str, workflow: Mapping[str, Any], before: Checkpoint | None) -> CheckpointHead:
    """Return how much of the log can be stored: the same as before if only the checkpoint event is new."""
    start, whole = 0, before.head.ends[:-1] if before else ()
    if before is None:
        links = list(walk_chain(raw, run))
        if not links:
            raise NotFound(f"the log of {run} is empty", hint="a run begins with an event")
        if links[0].event.body.get("definition") != definition_hash(workflow):
            raise VerificationFailed(f"{run} began with another definition than this", hint="a run keeps its own")
    else:
        _check_log_continues(raw, before, workflow)
        start = before.head.ends[-1]
        links = list(walk_chain(raw[start:], run, LogHead(before.head.seq, before.head.digest)))
        if all(link.event.kind == "run.checkpointed" for link in links):
            return before.head
    last = links[-1]
    ends = _piece_ends(raw, whole[-1] if whole else 0, start + last.end)
    return CheckpointHead(run=run, seq=last.event.seq, digest=last.digest, ends=(*whole, *ends))


def _check_log_continues(raw: bytes, before: Checkpoint, workflow: Mapping[str, Any]) -> None:
    """Raise an error if the log does not begin with exactly the bytes on the ref. Raises: VerificationFailed."""
    if before.workflow() != json_document(dict(workflow)):
        raise VerificationFailed(f"{before.anchor.where} holds another definition", hint="a run keeps its own")
    for (start, end), oid in zip(pairwise((0, *before.head.ends)), before.pieces(), strict=True):
        # By the id that git gave them: nothing has to be read.
        if blob_id(raw[start:end], "sha256" if len(oid) == 64 else "sha1") != oid:
            raise VerificationFailed(
                f"the log of {before.run} does not continue what {before.anchor.where} holds: it was cut or changed",
                hint="the ref keeps what it has",
                context={"run": before.run, "line": before.head.seq},
            )


def _piece_ends(raw: bytes, start: int, end: int) -> list[int]:
    """Return the ends of the pieces: each at the first line that fills it, the last one at the end."""
    ends = []
    while end - start > PIECE:
        start = raw.index(b"\n", start + PIECE - 1) + 1
        ends.append(start)
    return ends if ends and ends[-1] == end else [*ends, end]


def _new_event_pieces(raw: bytes, head: CheckpointHead, before: Checkpoint | None) -> dict[str, bytes | None]:
    """Return the new pieces, and the last old one, which may have grown."""
    bounds = list(pairwise((0, *head.ends)))
    first = len(before.head.ends) - 1 if before else 0
    return {f"{_EVENTS}/{_piece_name(at + 1)}": raw[slice(*bounds[at])] for at in range(first, len(bounds))}


def _new_artifacts(log: RunLog, before: Checkpoint | None, withheld: frozenset[str]) -> dict[str, bytes | None]:
    """Return the artifacts that are not on the ref yet and not withheld, after checking their digests."""
    held = before.names(ARTIFACTS) if before else {}
    kept = Artifacts(log.folder)
    wanted = [one for one in kept.names() if artifact_file_name(one) not in held and one not in withheld]
    return {f"{ARTIFACTS}/{artifact_file_name(one)}": kept.read(one) for one in wanted}


def _publish_checkpoint(
    objects: Objects,
    head: CheckpointHead,
    before: Checkpoint | None,
    files: Mapping[str, bytes | None],
    author: Author,
    along: Sequence[str],
) -> Checkpoint | None:
    """Commit and swap the ref; None to retry: another process was faster, or a prune removed the new objects."""
    ref, why = ref_of_run(head.run), f"runs: {head.run} up to event {head.seq}"
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


def _piece_name(number: int) -> str:
    return f"{number:04d}.jsonl"


def _read_tree_file(objects: Objects, tree: str, path: str) -> bytes:
    entry = objects.find(tree, path)
    if entry is None or not entry.is_file:
        raise NotFound(f"the run's ref holds no {path}")
    return objects.blob(entry.oid)
