"""Finds the one position of a file where a hunk fits, or says why there is none or more than one. Pure."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from gitnexus.base.errors import Conflict
from gitnexus.base.text import one_line
from gitnexus.gateway.dialects.model import PatchHunk

_AROUND = 3
_MOST_SHOWN = 40
_LONGEST = 200
# Of a file that no old line is in, so many lines are compared with so many of the old ones.
_MOST_COMPARED, _MOST_WANTED = 2000, 3
_CLOSING = tuple(")}]{")


class UnclearPlace(Conflict):
    """A hunk fits several positions, or does not say where it belongs."""


def find_place(path: str, lines: Sequence[str], hunk: PatchHunk) -> int:
    """Return the index of the line where a hunk begins. Raises: Conflict, with the surrounding lines."""
    old = hunk.old
    if not old:
        return _place_of_addition(path, lines, hunk)
    places = _places_of(lines, old) or _places_of(
        *([line if line.strip() else "" for line in one] for one in (lines, old))
    )
    if not places:
        raise _no_place(path, lines, hunk)
    if hunk.at_end:
        places = [at for at in places if at + len(old) == len(lines)] or places
    if hunk.at and hunk.at - 1 in places:
        return hunk.at - 1
    if hunk.anchors:
        anchored = _below_anchors(path, lines, hunk)
        inside = [at for at in places if _is_inside(lines, anchored, at)]
        places = inside if inside and len(places) > 1 else places
    if len(places) > 1:
        shown = ", ".join(str(at + 1) for at in places[:8])
        raise UnclearPlace(
            f"line {hunk.row}: this fits {len(places)} places of {one_line(path, 80)}, at the lines {shown}",
            hint="add surrounding lines that occur only once",
            context={"path": path, "around": _shown_places(lines, places, len(old))},
        )
    return places[0]


def numbered_lines(lines: Sequence[str], start: int, end: int) -> str:
    """Return some lines of a file with their numbers and a few around them."""
    first, last = max(0, start - _AROUND), min(len(lines), end + _AROUND)
    rows = [f"{at + 1}: {lines[at][:_LONGEST]}" for at in range(first, last)]
    return "\n".join(rows if len(rows) <= _MOST_SHOWN else [*rows[:_MOST_SHOWN], "…"])


def _places_of(lines: Sequence[str], old: Sequence[str]) -> list[int]:
    """Return every index at which all old lines match; the rarest of them is searched first."""
    known: dict[str, list[int]] = {text: [] for text in old}
    for at, line in enumerate(lines):
        if line in known:
            known[line].append(at)
    offset = min(range(len(old)), key=lambda at: len(known[old[at]]))
    starts = (at - offset for at in known[old[offset]])
    size = len(old)
    return [at for at in starts if at >= 0 and list(lines[at : at + size]) == list(old)]


def _place_of_addition(path: str, lines: Sequence[str], hunk: PatchHunk) -> int:
    """Return the position of added lines without context: the end of the file, or below the last anchor."""
    if hunk.at_end or not lines:
        return len(lines)
    if hunk.anchors:
        found = _below_anchors(path, lines, hunk)
        if len(found) == 1:
            return found[0] + 1
    raise UnclearPlace(
        f"line {hunk.row}: the hunk adds lines to {one_line(path, 80)} and does not say where",
        hint="add lines around it",
        context={"path": path},
    )


def _below_anchors(path: str, lines: Sequence[str], hunk: PatchHunk) -> list[int]:
    """Return the lines that the last anchor names, each inside of the anchors before it. Raises: Conflict."""
    inside: list[int] | None = None
    for anchor in hunk.anchors:
        named = [at for at, line in enumerate(lines) if line.strip() == anchor]
        named = named or [at for at, line in enumerate(lines) if line.strip().startswith(anchor)]
        if not named:
            raise Conflict(
                f"line {hunk.row}: {one_line(path, 80)} has no line {one_line(anchor, 80)!r}", context={"path": path}
            )
        inside = [at for at in named if inside is None or _is_inside(lines, inside, at)] or named
    return inside or []


def _is_inside(lines: Sequence[str], anchors: Sequence[int], at: int) -> bool:
    """Return True if a line is in the block that an anchor begins, by its indentation."""
    for anchor in anchors:
        depth = _indent(lines[anchor])
        between = lines[anchor + 1 : at]
        if anchor <= at and not any(
            line.strip() and _indent(line) <= depth and not line.strip().startswith(_CLOSING) for line in between
        ):
            return True
    return False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _no_place(path: str, lines: Sequence[str], hunk: PatchHunk) -> Conflict:
    """Return the error for lines that match nowhere, with the most similar position."""
    old = hunk.old
    score: dict[int, int] = {}
    rows: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        rows.setdefault(line.strip(), []).append(at)
    for offset, text in enumerate(old):
        for at in rows.get(text.strip(), ())[:200] if text.strip() else ():
            score[at - offset] = score.get(at - offset, 0) + 1
    if not score:
        score = _similar_places(old, rows)
    near = max(score, key=lambda at: (score[at], -abs(at - hunk.at)), default=max(0, hunk.at - 1))
    near = min(max(near, 0), len(lines))
    there = {line.strip() for line in lines}
    missing = next((text for text in old if text.strip() not in there), old[0])
    return Conflict(
        f"line {hunk.row}: it does not fit {one_line(path, 80)}: {one_line(missing, 100)!r} is not in the file",
        hint="create it again from the current files",
        context={"path": path, "around": numbered_lines(lines, near, near + len(old))},
    )


def _similar_places(old: Sequence[str], rows: Mapping[str, Sequence[int]]) -> dict[int, int]:
    """Return where a line is that is like one of the old lines, as no line is equal to one; the longest ones decide."""
    known = [text for text in rows if text and len(text) <= _LONGEST][:_MOST_COMPARED]
    wanted = sorted(((text.strip(), offset) for offset, text in enumerate(old)), key=lambda one: -len(one[0]))
    for text, offset in wanted[:_MOST_WANTED]:
        if len(text) <= _LONGEST and (like := get_close_matches(text, known, 1)):
            return {rows[like[0]][0] - offset: 1}
    return {}


def _shown_places(lines: Sequence[str], places: Sequence[int], size: int) -> str:
    return "\n…\n".join(numbered_lines(lines, at, at + size) for at in places[:3])
