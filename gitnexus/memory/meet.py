"""Notes of two clones that meet: section by section, so that two who both learned something both keep it."""

import re
from collections.abc import Sequence

from gitnexus.state.join import Joined, Meeting, settle_one
from gitnexus.state.merge import Unmergeable, merged

_HEADING = re.compile(rb"^## .*$", re.MULTILINE)


def met(meeting: Meeting, paths: Sequence[str]) -> Joined:
    """Return what our notes become; what does not fit together is kept beside, by the rule for all texts."""
    done = Joined()
    for path in paths:
        base, mine, theirs = meeting.contents(path) if path.endswith(".md") else (None, None, None)
        both = mine is not None and theirs is not None and base not in (mine, theirs)
        if both and mine is not None and theirs is not None:
            try:
                done.files[path] = together(path, base or b"", mine, theirs)
                continue
            except Unmergeable:
                pass
        settle_one(meeting, path, done)
    return done


def together(path: str, base: bytes, mine: bytes, theirs: bytes) -> bytes:
    """Return a note with both sides' changes: a section is the field of a note. Raises: Unmergeable."""
    try:
        return merged(path, base, mine, theirs)
    except Unmergeable:
        sides = [_sections(side) for side in (base, mine, theirs)]
    out = []
    for heading in dict.fromkeys([*sides[2], *sides[1]]):
        was, own, other = (side.get(heading) for side in sides)
        text = _section(was, own, other)
        if text:
            out.append(heading + b"\n\n" + text if heading else text)
    return b"\n\n".join(out) + b"\n"


def _section(was: bytes | None, own: bytes | None, other: bytes | None) -> bytes | None:
    if other in (own, was):
        return own
    if own == was:
        return other
    if own is None or other is None:
        raise Unmergeable("a section was removed on one side and changed on the other")
    before = was or b""
    if not own.startswith(before) or not other.startswith(before):
        raise Unmergeable("both sides changed the same section")
    said = other.split(b"\n\n")
    more = [part for part in own[len(before) :].strip(b"\n").split(b"\n\n") if part not in said]
    return b"\n\n".join([other, *more])


def _sections(text: bytes) -> dict[bytes, bytes]:
    """Return the sections of a note by their heading, what stands before the first under the empty one.

    Raises: Unmergeable for a heading that stands twice.
    """
    found: dict[bytes, bytes] = {}
    at, heading = 0, b""
    for match in [*_HEADING.finditer(text), None]:
        body = text[at : match.start() if match else len(text)].strip(b"\n")
        if heading in found:
            raise Unmergeable("a heading stands twice")
        found[heading] = body
        if match:
            at, heading = match.end(), match.group().rstrip()
    return found
