"""What a reference means in a commit: the lines, and for each of them where it comes from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitnexus.base.errors import NotFound
from gitnexus.base.text import one_line
from gitnexus.docgraph import Graph, Shelf, load, slice_of
from gitnexus.docgraph.store import NEXUS, Blob
from gitnexus.packs.lines import is_binary, shown
from gitnexus.packs.model import Kind, Piece, Source
from gitnexus.packs.past import cycle_of
from gitnexus.packs.refs import Ref
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


class Kept(NamedTuple):
    """An artifact of a run: the run's whole id, the digest, what it is called, and its bytes."""

    run: str
    digest: str
    name: str
    data: bytes
    blob: str


# Looks up what a run kept, by name or digest. Raises: NexusError.
FindArtifact = Callable[[str, str], Kept]


@dataclass(frozen=True, slots=True)
class Candidate:
    """All that a reference would give. `rows` have each their source; `ref` is pinned: it means the same tomorrow."""

    ref: str
    kind: Kind
    rows: tuple[str, ...]
    sources: tuple[Source, ...]
    hidden: int
    more: bool = False

    def piece(self, count: int) -> Piece:
        """Return the first `count` lines as a piece."""
        return Piece(
            ref=self.ref,
            kind=self.kind,
            sources=_joined(self.sources[:count]),
            text="".join(f"{row}\n" for row in self.rows[:count]),
            lines=len(self.rows),
            cut=self.more or count < len(self.rows),
            hidden=self.hidden,
        )


class Finder:
    """Looks references up in one commit of the code and one of the state."""

    def __init__(self, base: BaseTree, state: Snapshot, artifact: FindArtifact) -> None:
        self._base = base
        self._state = state
        self._artifact = artifact
        self._shelf = Shelf(base, state)
        self._graph: Graph | None = None

    def found(self, ref: Ref) -> Candidate:
        """Return what a reference means. Raises: NotFound, Invalid, as words for who reads what was left out."""
        match ref.kind:
            case "grep":
                return self._grepped(ref)
            case "doc":
                return self._sliced(ref)
            case "artifact":
                kept = self._artifact(ref.name, ref.part)
                pinned = Ref("artifact", kept.run, kept.digest)
                source = Source(path=f"{kept.run}/{kept.name}", blob=kept.blob, first_line=1, last_line=1)
                return _cut_out(str(pinned), "artifact", kept.data, source, 0, 0)
            case "commit":
                commit, text = self._base.told(ref.name)
                source = Source(path="commit", blob=commit, first_line=1, last_line=1, commit=commit)
                return _cut_out(str(Ref("commit", commit)), "commit", text.encode(), source, 0, 0)
            case "cycle":
                text, source = cycle_of(self._state, ref.name)
                return _cut_out(str(ref), "cycle", text.encode("utf-8", "replace"), source, 0, 0)
            case "file":
                return self._filed(str(ref), "file", ref.name, ref.first, ref.last)
            case _:
                folder, suffix = _FOLDERS[ref.kind]
                if "/" in ref.name:
                    raise NotFound(f"there is no {ref.kind} of that name")
                return self._filed(str(ref), ref.kind, f"{NEXUS}{folder}/{ref.name}{suffix}", 0, 0)

    def _filed(self, ref: str, kind: Kind, path: str, first: int, last: int) -> Candidate:
        blob = self._read(path)
        source = Source(path=path, blob=blob.oid, first_line=1, last_line=1, commit=self._commit(path))
        return _cut_out(ref, kind, blob.data, source, first, last)

    def _sliced(self, ref: Ref) -> Candidate:
        if self._graph is None:
            self._graph = load(self._shelf)
        word = f"L{ref.first}-L{ref.last}" if ref.first else ref.part
        if why := _why_denied(self._base, ref.name):
            raise NotFound(why)
        part = slice_of(self._graph, f"{ref.name}#{word}" if word else ref.name)
        return self._filed(str(ref), "doc", part.path, part.first_line, part.last_line)

    def _read(self, path: str) -> Blob:
        # The state is read past the tree, which knows what is denied.
        found = None if _why_denied(self._base, path) else self._shelf.read(path)
        if found is None:
            if path.startswith(NEXUS) and not _why_denied(self._base, path):
                raise NotFound(f"the state has no {one_line(path.removeprefix(NEXUS), 80)}")
            raise NotFound(self._base.why_not(path) or "it cannot be read")
        if is_binary(found.data):
            raise NotFound("it is binary")
        return found

    def _commit(self, path: str) -> str:
        return (self._state.commit or "") if path.startswith(NEXUS) else self._base.commit

    def _grepped(self, ref: Ref) -> Candidate:
        words = ref.name.encode()
        rows: list[str] = []
        sources: list[Source] = []
        hidden = 0
        for entry, data in self._base.texts(ref.part):
            if words not in data or is_binary(data):
                continue
            lines, count = shown(data)
            hits = [number for number, line in enumerate(lines, 1) if ref.name in line]
            hidden += count if hits else 0
            for number in hits:
                rows.append(f"{one_line(entry.path, LONGEST_HIT)}:{number}: {lines[number - 1][:LONGEST_HIT]}")
                sources.append(Source(path=entry.path, blob=entry.oid, first_line=number, last_line=number,
                                      commit=self._base.commit))  # fmt: skip
            if len(rows) > MOST_HITS:
                break
        if not rows:
            raise NotFound("no file that may be read holds these words")
        more = len(rows) > MOST_HITS
        return Candidate(str(ref), "grep", tuple(rows[:MOST_HITS]), tuple(sources[:MOST_HITS]), hidden, more)


def _why_denied(base: BaseTree, path: str) -> str | None:
    # One that is merely not there may be an id or a phase.
    reason = base.why_not(path)
    return reason if reason and reason.startswith("it may not be read") else None


def _cut_out(ref: str, kind: Kind, data: bytes, source: Source, first: int, last: int) -> Candidate:
    if is_binary(data):
        raise NotFound("it is binary")
    lines, hidden = shown(data)
    start, end = (first, min(last, len(lines))) if first else (1, len(lines))
    if not lines or start > end:
        raise NotFound(f"it has {len(lines)} lines" if lines else "it is empty")
    numbers = range(start, end + 1)
    sources = tuple(source.changed(first_line=number, last_line=number) for number in numbers)
    return Candidate(ref, kind, tuple(lines[start - 1 : end]), sources, hidden)


def _joined(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return sources with neighbouring lines of one file made one range."""
    found: list[Source] = []
    for one in sources:
        if found and found[-1].path == one.path and found[-1].last_line + 1 >= one.first_line:
            found[-1] = found[-1].changed(last_line=one.last_line)
        else:
            found.append(one)
    return tuple(found)
