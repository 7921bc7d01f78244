"""Resolves a reference in a commit to its lines, each with the file and line that it comes from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitnexus.base.errors import NotFound
from gitnexus.base.text import one_line
from gitnexus.docgraph import DocGraph, DocumentFiles, read_doc_graph, slice_from_reference
from gitnexus.docgraph.store import NEXUS, Blob
from gitnexus.packs.history_text import cycle_by_number
from gitnexus.packs.lines import is_binary_data, mask_lines
from gitnexus.packs.model import Kind, LineSource, PackPiece
from gitnexus.packs.refs import PackReference
from gitnexus.packs.tree import BaseTree
from gitnexus.state import Snapshot

MOST_HITS = 100
LONGEST_HIT = 300
# A half of these says something else than the whole; the others are of use line by line.
WHOLE: frozenset[Kind] = frozenset({"commit", "context", "cycle", "doc", "memory", "rule", "task"})
_FOLDERS: dict[Kind, tuple[str, str]] = {
    "context": ("context", ".md"),
    "memory": ("memory", ".md"),
    "rule": ("rules", ".md"),
    "task": ("backlog", ".json"),
}


class RunArtifact(NamedTuple):
    """An artifact of a run: the run's full id, the digest, its name, and its bytes."""

    run: str
    digest: str
    name: str
    data: bytes
    blob: str


# Looks up what a run kept, by name or digest. Raises: NexusError.
FindArtifact = Callable[[str, str], RunArtifact]


@dataclass(frozen=True, slots=True)
class PackCandidate:
    """The full content of a reference. Each of `rows` has its source; `ref` is pinned to a commit."""

    ref: str
    kind: Kind
    rows: tuple[str, ...]
    sources: tuple[LineSource, ...]
    hidden: int
    more: bool = False

    def piece(self, count: int) -> PackPiece:
        """Return the first `count` lines as a piece."""
        return PackPiece(
            ref=self.ref,
            kind=self.kind,
            sources=_join_line_ranges(self.sources[:count]),
            text="".join(f"{row}\n" for row in self.rows[:count]),
            lines=len(self.rows),
            cut=self.more or count < len(self.rows),
            hidden=self.hidden,
        )


class ReferenceFinder:
    """Looks up references in one commit of the code and one of the state."""

    def __init__(self, base: BaseTree, state: Snapshot, artifact: FindArtifact) -> None:
        self._base = base
        self._state = state
        self._artifact = artifact
        self._files = DocumentFiles(base, state)
        self._graph: DocGraph | None = None

    def found(self, ref: PackReference) -> PackCandidate:
        """Return the content of a reference. Raises: NotFound, Invalid, worded for the list of what was left out."""
        match ref.kind:
            case "grep":
                return self._candidate_from_search(ref)
            case "doc":
                return self._candidate_from_document(ref)
            case "artifact":
                kept = self._artifact(ref.name, ref.part)
                pinned = PackReference("artifact", kept.run, kept.digest)
                source = LineSource(path=f"{kept.run}/{kept.name}", blob=kept.blob, first_line=1, last_line=1)
                return _candidate_from_lines(str(pinned), "artifact", kept.data, source, 0, 0)
            case "commit":
                commit, text = self._base.describe_commit(ref.name)
                source = LineSource(path="commit", blob=commit, first_line=1, last_line=1, commit=commit)
                return _candidate_from_lines(
                    str(PackReference("commit", commit)), "commit", text.encode(), source, 0, 0
                )
            case "cycle":
                text, source = cycle_by_number(self._state, ref.name)
                return _candidate_from_lines(str(ref), "cycle", text.encode("utf-8", "replace"), source, 0, 0)
            case "file":
                return self._candidate_from_file(str(ref), "file", ref.name, ref.first, ref.last)
            case _:
                folder, suffix = _FOLDERS[ref.kind]
                if "/" in ref.name:
                    raise NotFound(f"there is no {ref.kind} of that name")
                return self._candidate_from_file(str(ref), ref.kind, f"{NEXUS}{folder}/{ref.name}{suffix}", 0, 0)

    def _candidate_from_file(self, ref: str, kind: Kind, path: str, first: int, last: int) -> PackCandidate:
        blob = self._read_text_blob(path)
        source = LineSource(path=path, blob=blob.oid, first_line=1, last_line=1, commit=self._commit_of_path(path))
        return _candidate_from_lines(ref, kind, blob.data, source, first, last)

    def _candidate_from_document(self, ref: PackReference) -> PackCandidate:
        if self._graph is None:
            self._graph = read_doc_graph(self._files)
        word = f"L{ref.first}-L{ref.last}" if ref.first else ref.part
        if why := _why_read_denied(self._base, ref.name):
            raise NotFound(why)
        part = slice_from_reference(self._graph, f"{ref.name}#{word}" if word else ref.name)
        return self._candidate_from_file(str(ref), "doc", part.path, part.first_line, part.last_line)

    def _read_text_blob(self, path: str) -> Blob:
        # The state is read past the tree, which knows what is denied.
        found = None if _why_read_denied(self._base, path) else self._files.read(path)
        if found is None:
            if path.startswith(NEXUS) and not _why_read_denied(self._base, path):
                raise NotFound(f"the state has no {one_line(path.removeprefix(NEXUS), 80)}")
            raise NotFound(self._base.why_not(path) or "it cannot be read")
        if is_binary_data(found.data):
            raise NotFound("it is binary")
        return found

    def _commit_of_path(self, path: str) -> str:
        return (self._state.commit or "") if path.startswith(NEXUS) else self._base.commit

    def _candidate_from_search(self, ref: PackReference) -> PackCandidate:
        words = ref.name.encode()
        rows: list[str] = []
        sources: list[LineSource] = []
        hidden = 0
        for entry, data in self._base.texts(ref.part):
            if words not in data or is_binary_data(data):
                continue
            lines, count = mask_lines(data)
            hits = [number for number, line in enumerate(lines, 1) if ref.name in line]
            hidden += count if hits else 0
            for number in hits:
                rows.append(f"{one_line(entry.path, LONGEST_HIT)}:{number}: {lines[number - 1][:LONGEST_HIT]}")
                sources.append(
                    LineSource(
                        path=entry.path, blob=entry.oid, first_line=number, last_line=number, commit=self._base.commit
                    )
                )
            if len(rows) > MOST_HITS:
                break
        if not rows:
            raise NotFound("no file that may be read holds these words")
        more = len(rows) > MOST_HITS
        return PackCandidate(str(ref), "grep", tuple(rows[:MOST_HITS]), tuple(sources[:MOST_HITS]), hidden, more)


def _why_read_denied(base: BaseTree, path: str) -> str | None:
    # One that is merely not there may be an id or a phase.
    reason = base.why_not(path)
    return reason if reason and reason.startswith("it may not be read") else None


def _candidate_from_lines(
    ref: str, kind: Kind, data: bytes, source: LineSource, first: int, last: int
) -> PackCandidate:
    if is_binary_data(data):
        raise NotFound("it is binary")
    lines, hidden = mask_lines(data)
    start, end = (first, min(last, len(lines))) if first else (1, len(lines))
    if not lines or start > end:
        raise NotFound(f"it has {len(lines)} lines" if lines else "it is empty")
    numbers = range(start, end + 1)
    sources = tuple(source.changed(first_line=number, last_line=number) for number in numbers)
    return PackCandidate(ref, kind, tuple(lines[start - 1 : end]), sources, hidden)


def _join_line_ranges(sources: Sequence[LineSource]) -> tuple[LineSource, ...]:
    """Return sources with adjacent lines of a file joined to one range."""
    found: list[LineSource] = []
    for one in sources:
        if found and found[-1].path == one.path and found[-1].last_line + 1 >= one.first_line:
            found[-1] = found[-1].changed(last_line=one.last_line)
        else:
            found.append(one)
    return tuple(found)
