"""Reads and increments how often a note was changed: `rev` in its front matter, a Lamport counter.

A writer adds one to the count that it read; no wall clock is used. A note without a count, as people and other programs
write them, has 0.
"""

import re
from typing import NamedTuple

from gitnexus.base.frontmatter import UnclosedFrontMatter, locate_front_matter, render_front_matter

# A field, a line that goes on with one, a remark, an empty line: a rule drawn across a text has others below it.
_ROW = re.compile(rb"[A-Za-z_][\w.-]*[ \t]*:(?:[ \t].*)?|[ \t#-].*|")
_REV = re.compile(rb"^rev[ \t]*:[ \t]*([0-9]{1,15})[ \t]*\r?\n", re.MULTILINE)
_ANY_REV = re.compile(rb"^rev[ \t]*:", re.MULTILINE)


class _Cut(NamedTuple):
    """A note split at its front matter: the text before it, its lines, and the rest."""

    before: bytes
    front: bytes
    after: bytes


def _cut_front_matter(raw: bytes) -> _Cut | None:
    try:
        span = locate_front_matter(raw)
    except UnclosedFrontMatter:
        return None
    front = raw[span.start : span.end] if span else b""
    if span is None or not all(_ROW.fullmatch(line.rstrip(b"\r")) for line in front.split(b"\n")):
        return None
    return _Cut(raw[: span.start], front, raw[span.end :])


def split_front_matter(raw: bytes) -> tuple[bytes, bytes]:
    """Return the front matter of a note without its fences, and the text below; without front matter, "" and all."""
    cut = _cut_front_matter(raw)
    return (b"", raw) if cut is None else (cut.front, cut.after.partition(b"\n")[2])


def rev_of_note(raw: bytes) -> int:
    """Return the count of a note."""
    found = _REV.search(split_front_matter(raw)[0])
    return int(found[1]) if found else 0


def without_rev(raw: bytes) -> bytes:
    """Return a note without its count, as its authors see it."""
    cut = _cut_front_matter(raw)
    found = _REV.search(cut.front) if cut else None
    if cut is None or found is None:
        return raw
    rest = cut.front[: found.start()] + cut.front[found.end() :]
    return cut.before + rest + cut.after if rest else cut.after.partition(b"\n")[2]


def with_rev(raw: bytes, rev: int) -> bytes:
    """Return a note with another count; a note whose own `rev` is not a number keeps it and is not counted."""
    plain = without_rev(raw)
    cut = _cut_front_matter(plain)
    if rev == 0 or (cut and _ANY_REV.search(cut.front)):
        return plain
    if cut is None or not cut.front:
        return render_front_matter([f"rev: {rev}"]).encode() + plain
    end = b"\r\n" if cut.before.endswith(b"\r\n") else b"\n"
    return cut.before + b"rev: %d" % rev + end + cut.front + cut.after


def with_next_rev(before: bytes, after: bytes) -> bytes:
    """Return a note as it is written over another: its count is one higher than both."""
    return with_rev(after, max(rev_of_note(before), rev_of_note(after)) + 1)


def accept_note_edit(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return the content of the ref for an edited note: a change is counted, a new note is stored unchanged."""
    if mine is None or theirs is None or not path.endswith(".md"):
        return mine
    return with_next_rev(theirs, mine)
