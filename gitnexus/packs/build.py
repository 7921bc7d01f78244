"""References become a pack: in their order, each whole or cut at a line, and never more than the budget."""

from collections.abc import Sequence
from dataclasses import dataclass

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.git import GitFailed
from gitnexus.packs.find import WHOLE, Candidate, FindArtifact, Finder
from gitnexus.packs.model import Budget, LeftOut, Pack, Piece
from gitnexus.packs.refs import all_parsed
from gitnexus.packs.render import OVERHEAD, framed, rendered, room_in
from gitnexus.packs.tree import BaseTree
from gitnexus.state import Snapshot

# Fewer lines of a file than these say nothing; then the room is left for what comes after.
LEAST_LINES = 8


@dataclass(frozen=True, slots=True)
class Library:
    """Where references are looked up: one commit of the code, one of the state, and what runs kept."""

    base: BaseTree
    state: Snapshot
    artifact: FindArtifact


def built(library: Library, refs: Sequence[str], budget: Budget) -> Pack:
    """Return the pack of some references. What cannot be in is left out with the reason.

    The first reference gets its room first. What does not fit is cut at the end of a line if it is a file, a search or
    an artifact and 8 lines are left of it; anything else is left out whole, and the next one is tried.
    Raises: Invalid for what is no reference, or for a budget in which there is no pack.
    """
    room = room_in(budget.checked()) - OVERHEAD
    finder = Finder(library.base, library.state, library.artifact)
    pieces: list[Piece] = []
    out: list[LeftOut] = []
    names: list[str] = []
    for ref in all_parsed(list(refs)):
        try:
            candidate = finder.found(ref)
        except GitFailed:
            raise  # a repository that cannot be read is no reason to leave something out
        except NexusError as exc:
            names.append(str(ref))
            out.append(LeftOut(ref=str(ref), why=one_line(exc.message, 200)))
            continue
        if candidate.ref in names:
            continue
        names.append(candidate.ref)
        piece, why = _fitted(candidate, len(pieces) + 1, room, pieces)
        if piece is not None:
            pieces.append(piece)
            room -= len(framed(piece, len(pieces)).encode())
        if why:
            out.append(LeftOut(ref=candidate.ref, why=why))
    pack = Pack(
        base=library.base.commit,
        state=library.state.commit or "",
        refs=tuple(names),
        budget=budget,
        pieces=tuple(pieces),
        left_out=tuple(out),
    )
    assert len(rendered(pack).encode()) <= room_in(budget)  # noqa: S101 - what everything above is for
    return pack.hashed()


def rebuilt(pack: Pack, library: Library) -> Pack:
    """Return the pack that its references give in `library`, which is opened at its commits: equal, if all is well."""
    return built(library, pack.refs, pack.budget)


def _fitted(candidate: Candidate, number: int, room: int, before: Sequence[Piece]) -> tuple[Piece | None, str]:
    """Return the piece that fits, and what is missing of it."""
    whole = candidate.piece(len(candidate.rows))
    holder = next((one for one in before if _holds(one, whole)), None)
    if holder is not None:
        return None, f"{holder.ref} holds it already"
    size = len(framed(whole, number).encode())
    if size <= room:
        return whole, "there are more lines than a search shows" if candidate.more else ""
    if candidate.kind in WHOLE:
        return None, f"it takes {size} bytes, and {max(room, 0)} are left"
    # The longest title there can be, and then as many lines as fit.
    left = room - len(framed(candidate.piece(len(candidate.rows)).changed(text="", cut=True), number).encode())
    count = 0
    for row in candidate.rows:
        left -= len(row.encode("utf-8", "surrogatepass")) + 1
        if left < 0:
            break
        count += 1
    if count < LEAST_LINES:
        return None, f"it takes {size} bytes, and {max(room, 0)} are left"
    return candidate.piece(count), f"cut: {count} of {len(candidate.rows)} lines fit"


def _holds(one: Piece, other: Piece) -> bool:
    """True if every line of `other` stands in `one`; a search shows less of a line than there is."""
    if one.kind == "grep" or other.kind == "grep":
        return False
    a, b = one.sources[0], other.sources[0]
    same = (a.commit, a.path, a.blob) == (b.commit, b.path, b.blob)
    return same and a.first_line <= b.first_line and b.last_line <= a.last_line
