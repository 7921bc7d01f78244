"""Builds a pack from references: in order, each complete or cut at a line, never larger than the budget."""

from collections.abc import Sequence
from dataclasses import dataclass

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.git import GitFailed
from gitnexus.packs.find import WHOLE, FindArtifact, PackCandidate, ReferenceFinder
from gitnexus.packs.model import ContextPack, LeftOutReference, PackBudget, PackPiece
from gitnexus.packs.refs import parse_references
from gitnexus.packs.render import OVERHEAD, bytes_in_budget, frame_piece, render_pack
from gitnexus.packs.tree import BaseTree
from gitnexus.state import Snapshot

# Fewer lines of a file than these say nothing; then the room is left for what comes after.
LEAST_LINES = 8


@dataclass(frozen=True, slots=True)
class Library:
    """The sources of references: one commit of the code, one of the state, and the artifacts of runs."""

    base: BaseTree
    state: Snapshot
    artifact: FindArtifact


def pack_references(library: Library, refs: Sequence[str], budget: PackBudget) -> ContextPack:
    """Return a pack of some references. References that do not fit are left out, with the reason.

    The first reference gets space first. A file, search or artifact that does not fit is cut at a line if 8 lines of it
    remain; anything else is left out whole, and the next reference is tried. Raises: Invalid for an invalid reference,
    or for a budget that is too small for any pack.
    """
    room = bytes_in_budget(budget.checked()) - OVERHEAD
    finder = ReferenceFinder(library.base, library.state, library.artifact)
    pieces: list[PackPiece] = []
    out: list[LeftOutReference] = []
    names: list[str] = []
    for ref in parse_references(list(refs)):
        try:
            candidate = finder.found(ref)
        except GitFailed:
            raise  # a repository that cannot be read is no reason to leave something out
        except NexusError as exc:
            names.append(str(ref))
            out.append(LeftOutReference(ref=str(ref), why=one_line(exc.message, 200)))
            continue
        if candidate.ref in names:
            continue
        names.append(candidate.ref)
        piece, why = _fit_piece(candidate, len(pieces) + 1, room, pieces)
        if piece is not None:
            pieces.append(piece)
            room -= len(frame_piece(piece, len(pieces)).encode())
        if why:
            out.append(LeftOutReference(ref=candidate.ref, why=why))
    pack = ContextPack(
        base=library.base.commit,
        state=library.state.commit or "",
        refs=tuple(names),
        budget=budget,
        pieces=tuple(pieces),
        left_out=tuple(out),
    )
    assert len(render_pack(pack).encode()) <= bytes_in_budget(budget)  # noqa: S101 - what everything above is for
    return pack.hashed()


def rebuild_pack(pack: ContextPack, library: Library) -> ContextPack:
    """Return the pack that its references give in `library`, opened at its commits; it should be equal."""
    return pack_references(library, pack.refs, pack.budget)


def _fit_piece(
    candidate: PackCandidate, number: int, room: int, before: Sequence[PackPiece]
) -> tuple[PackPiece | None, str]:
    """Return the piece that fits, and the part that is missing."""
    whole = candidate.piece(len(candidate.rows))
    holder = next((one for one in before if _includes_piece(one, whole)), None)
    if holder is not None:
        return None, f"{holder.ref} contains it already"
    size = len(frame_piece(whole, number).encode())
    if size <= room:
        return whole, "there are more lines than a search shows" if candidate.more else ""
    if candidate.kind in WHOLE:
        return None, f"it takes {size} bytes, and {max(room, 0)} are left"
    # The longest title there can be, and then as many lines as fit.
    left = room - len(frame_piece(candidate.piece(len(candidate.rows)).changed(text="", cut=True), number).encode())
    count = 0
    for row in candidate.rows:
        left -= len(row.encode("utf-8", "surrogatepass")) + 1
        if left < 0:
            break
        count += 1
    if count < LEAST_LINES:
        return None, f"it takes {size} bytes, and {max(room, 0)} are left"
    return candidate.piece(count), f"cut: {count} of {len(candidate.rows)} lines fit"


def _includes_piece(one: PackPiece, other: PackPiece) -> bool:
    """Return True if `one` includes every line of `other`; a search shows only a part of a line."""
    if one.kind == "grep" or other.kind == "grep":
        return False
    a, b = one.sources[0], other.sources[0]
    same = (a.commit, a.path, a.blob) == (b.commit, b.path, b.blob)
    return same and a.first_line <= b.first_line and b.last_line <= a.last_line
