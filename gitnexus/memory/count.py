"""How often a note was changed, by anybody that it knows of: `rev` in its front matter, a Lamport counter.

Whoever changes a note has read it and counts one further; no wall clock is asked. A note without a count is at 0, as
people and other programs write them.
"""

import re
from typing import NamedTuple

_FRONT = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n((?:.*\n)*?)---[ \t]*\r?(?:\n|\Z)")
# A field, a line that goes on with one, a remark, an empty line: a rule drawn across a text has others below it.
_ROW = re.compile(rb"[A-Za-z_][\w.-]*[ \t]*:(?:[ \t].*)?|[ \t#-].*|")
_REV = re.compile(rb"^rev[ \t]*:[ \t]*([0-9]{1,15})[ \t]*\r?\n", re.MULTILINE)
_ANY_REV = re.compile(rb"^rev[ \t]*:", re.MULTILINE)


class _Cut(NamedTuple):
    """A note where its front matter ends: what stands before it, its lines, the rest."""

    before: bytes
    front: bytes
    after: bytes


def _cut(raw: bytes) -> _Cut | None:
    found = _FRONT.match(raw)
    if found is None or not all(_ROW.fullmatch(line.rstrip(b"\r")) for line in found[1].split(b"\n")):
        return None
    return _Cut(raw[: found.start(1)], found[1], raw[found.end(1) :])


def front_of(raw: bytes) -> tuple[bytes, bytes]:
    """Return the front matter of a note without its fences, and what follows; nothing and all where there is none."""
    cut = _cut(raw)
    return (b"", raw) if cut is None else (cut.front, cut.after.partition(b"\n")[2])


def rev_of(raw: bytes) -> int:
    """Return the count of a note."""
    found = _REV.search(front_of(raw)[0])
    return int(found[1]) if found else 0


def without_rev(raw: bytes) -> bytes:
    """Return a note as its writers know it, without the count."""
    cut = _cut(raw)
    found = _REV.search(cut.front) if cut else None
    if cut is None or found is None:
        return raw
    rest = cut.front[: found.start()] + cut.front[found.end() :]
    return cut.before + rest + cut.after if rest else cut.after.partition(b"\n")[2]


def with_rev(raw: bytes, rev: int) -> bytes:
    """Return a note with another count; one whose own `rev` is no number keeps that, and is not counted."""
    plain = without_rev(raw)
    cut = _cut(plain)
    if rev == 0 or (cut and _ANY_REV.search(cut.front)):
        return plain
    if cut is None or not cut.front:
        return b"---\nrev: %d\n---\n" % rev + plain
    end = b"\r\n" if cut.before.endswith(b"\r\n") else b"\n"
    return cut.before + b"rev: %d" % rev + end + cut.front + cut.after


def counted(before: bytes, after: bytes) -> bytes:
    """Return a note as it is written over another: one beyond both."""
    return with_rev(after, max(rev_of(before), rev_of(after)) + 1)


def kept(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return what the ref should hold for a note that was edited: a change is counted, a new one taken as it is."""
    if mine is None or theirs is None or not path.endswith(".md"):
        return mine
    return counted(theirs, mine)
