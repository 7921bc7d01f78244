"""The `*** Begin Patch` form of Codex and OpenCode: which files such a text touches; read to judge, never to apply.

Its readers forgive blanks before a headline and a here-document around the whole; so do we. A line that may be a
headline counts as one: a file too many costs a question, one that is missed would pass unseen.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

BEGIN = "*** Begin Patch"
HUNK = "@@"
_HEADLINE = re.compile(r"\s*\*\*\*\s*(Add File|Update File|Delete File|Move to)\s*:(.*)", re.IGNORECASE)
_KNOWN = re.compile(r"\s*\*\*\*\s*(?:Begin Patch|End Patch|End of File)\s*", re.IGNORECASE)
Touch = Literal["add", "update", "delete", "move"]
_WHAT: dict[str, Touch] = {"add file": "add", "update file": "update", "delete file": "delete", "move to": "move"}


class Touched(NamedTuple):
    """One file of such a text; `move` is the new name of the file before it."""

    path: str
    what: Touch


class Section(NamedTuple):
    """One file with the lines below its headline; `certain` is false where a reader may take them for another's."""

    path: str
    what: Touch
    lines: Sequence[str]
    certain: bool


def touched(text: str) -> tuple[Touched, ...] | None:
    """Return the files that the text names, None for one that is not of this form."""
    found = sections(text)
    return None if found is None else tuple(Touched(one.path, one.what) for one in found)


def sections(text: str) -> tuple[Section, ...] | None:
    """Return the files of the text with what it says of each, None for one that is not of this form."""
    found: list[Section] = []
    lines: list[str] = []
    begun = ended = False
    for line in text.split("\n"):
        row = _HEADLINE.fullmatch(line.rstrip("\r"))
        marks = row is not None or line.lstrip().startswith("***")
        if found and ((marks and line[:1].isspace()) or (ended and line.strip())):
            found[-1] = found[-1]._replace(certain=False)  # some reader takes it for a line of the file before
        if row is not None:
            path = row[2].strip()
            if not path or not begun:
                return None
            lines = []
            found.append(Section(path, _WHAT[row[1].lower()], lines, True))
        elif marks:
            if _KNOWN.fullmatch(line) is None:
                return None
            begun = begun or "begin" in line.lower()
            ended = ended or "end patch" in line.lower()
            lines.append(HUNK)
        elif not ended:
            lines.append(line.rstrip("\r"))
    return tuple(found) if found else None


def added_text(section: Section) -> str | None:
    """Return what a new file will hold, None where that cannot be told."""
    lines = [line for line in section.lines if line.strip() and line != HUNK]
    if not section.certain or any(not line.startswith("+") for line in lines):
        return None
    return "".join(f"{line[1:]}\n" for line in lines)


def updated_text(section: Section, before: str | None) -> str | None:
    """Return what a file will hold after its hunks, None where that cannot be told.

    Readers look for a hunk from the last one on, and take what is only alike where nothing is the same: so each has to
    fit exactly, in one place, after the one before, and with no words that say where to look.
    """
    if before is None or not section.certain or any(line[:2] == HUNK and line[2:].strip() for line in section.lines):
        return None
    text = f"\n{before}" if before.endswith("\n") or not before else f"\n{before}\n"
    after = 0
    for old, new in _hunks(section.lines):
        at = text.find(old)
        if at < after or text.find(old, at + 1) >= 0:
            return None
        text = text[:at] + new + text[at + len(old) :]
        after = at + len(new) - 1
    return text[1:]


def _hunks(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that each hunk looks for and those that it puts there, from one end of a line to another."""
    old, new = "\n", "\n"
    for line in (*lines, HUNK):
        if line.startswith(HUNK):
            if old + new != "\n\n":
                yield old, new
            old, new = "\n", "\n"
            continue
        old += "" if line.startswith("+") else f"{line[1:]}\n"
        new += "" if line.startswith("-") else f"{line[1:]}\n"
