"""Notes of two clones that meet: field by field of the front matter, section by section of the text.

Where both changed the same field, the note with the higher count has it. Where both changed the same section, the one
with the higher count keeps the place and the whole other note lies beside it: what somebody wrote is not dropped.
"""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.memory.count import rev_of
from gitnexus.memory.parts import Parts, appended, listed, parts_of, with_items
from gitnexus.state.join import Joined, Meeting, settle_one
from gitnexus.state.merge import Unmergeable, merged

_FOLDER = "memory/"


class Met(NamedTuple):
    """One note of two; `beside` is the version that found no place for all it says, with the reason."""

    text: bytes
    beside: bytes | None = None
    why: str = ""


def met(meeting: Meeting, paths: Sequence[str]) -> Joined:
    """Return what our notes become; rules and context are plain texts, which nobody counts."""
    done = Joined()
    for path in paths:
        base, mine, theirs = meeting.contents(path) if path.endswith(".md") else (None, None, None)
        if mine is None or theirs is None or base in (mine, theirs):
            settle_one(meeting, path, done)
            continue
        try:
            found = together(path, base or b"", mine, theirs)
        except Unmergeable:
            settle_one(meeting, path, done)
            continue
        if found.beside is not None and not path.startswith(_FOLDER):
            settle_one(meeting, path, done)
            continue
        done.files[path] = found.text
        if found.beside is not None:
            meeting.keep_beside(path, found.beside, done, found.why)
    return done


def together(path: str, base: bytes, mine: bytes, theirs: bytes) -> Met:
    """Return a note with both sides' changes, the same whoever of the two asks. Raises: Unmergeable."""
    was, own, other = (parts_of(side) for side in (base, mine, theirs))
    ahead = (rev_of(mine), mine) > (rev_of(theirs), theirs)
    fields = {}
    for name in {**was.fields, **_sorted(own.fields, other.fields)}:
        value = _field(was.fields.get(name), own.fields.get(name), other.fields.get(name), ahead)
        if value:
            fields[name] = value
    clashes: list[str] = []
    try:
        text = merged(path, was.text, own.text, other.text)
    except Unmergeable:
        text, clashes = _sections(was, own, other, ahead)
    note = Parts(fields, text).note(max(rev_of(mine), rev_of(theirs)))
    if not clashes:
        return Met(note)
    named = ", ".join(clashes)
    return Met(note, theirs if ahead else mine, f"both sides changed {named}")


def _sorted(*sides: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return dict(sorted({name: b"" for side in sides for name in side}.items()))


def _field(was: bytes | None, own: bytes | None, other: bytes | None, ahead: bool) -> bytes | None:
    if other in (own, was):
        return own
    if own == was:
        return other
    first, second = (own, other) if ahead else (other, own)
    one, two = listed(first), listed(second)
    if first is None or one is None or two is None:
        return first
    had = listed(was) or []
    more = sorted({*one, *two} - {*had})
    return with_items(first, [*(item for item in had if item in one and item in two), *more])


def _sections(was: Parts, own: Parts, other: Parts, ahead: bool) -> tuple[bytes, list[str]]:
    """Return the text section by section, and the sections of which only one side's words could stay."""
    sides = [side.sections() for side in (was, own, other)]
    out, clashes = [], []
    for heading in {**sides[0], **_sorted(sides[1], sides[2])}:
        before, mine, theirs = (side.get(heading) for side in sides)
        text = mine if theirs in (mine, before) else theirs
        if mine != before and text is theirs and theirs != before:
            text = appended(before or b"", mine, theirs)
            if text is None:
                text = mine if ahead else theirs
                clashes.append(heading.decode("utf-8", "replace").lstrip("# ") or "the beginning")
        if text:
            out.append(heading + b"\n\n" + text if heading else text)
        elif heading and text is not None:
            out.append(heading)
    return b"\n\n".join(out) + b"\n", clashes
