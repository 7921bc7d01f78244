"""Parses the `*** Begin Patch` form of Codex and OpenCode into the files it touches. For judging, never for applying.

Readers of this form accept blanks before a headline and a here-document around the whole text; so does this parser. A
line that may be a headline counts as one: an extra file costs a question, a missed file would pass unseen.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

BEGIN = "*** Begin Patch"
HUNK = "@@"
# Compiled when first used: the gate loads this before calls of all kinds.
_HEADLINE = r"(?i)\s*\*\*\*\s*(Add File|Update File|Delete File|Move to)\s*:(.*)"
_KNOWN = r"(?i)\s*\*\*\*\s*(?:Begin Patch|End Patch|End of File)\s*"
Touch = Literal["add", "update", "delete", "move"]
_WHAT: dict[str, Touch] = {"add file": "add", "update file": "update", "delete file": "delete", "move to": "move"}


class PatchedFile(NamedTuple):
    """One file of such a text; `move` is the new name of the file before it."""

    path: str
    what: Touch


class PatchSection(NamedTuple):
    """One file with the lines below its headline; `certain` is False if a reader may assign them to another file."""

    path: str
    what: Touch
    lines: Sequence[str]
    certain: bool


def list_patched_files(text: str) -> tuple[PatchedFile, ...] | None:
    """Return the files that the text names, None if it is not of this form."""
    found = parse_patch_sections(text)
    return None if found is None else tuple(PatchedFile(one.path, one.what) for one in found)


def parse_patch_sections(text: str) -> tuple[PatchSection, ...] | None:
    """Return the files of the text with their lines, None if it is not of this form."""
    found: list[PatchSection] = []
    lines: list[str] = []
    begun = ended = False
    for line in text.split("\n"):
        row = re.fullmatch(_HEADLINE, line.rstrip("\r"))
        marks = row is not None or line.lstrip().startswith("***")
        if found and ((marks and line[:1].isspace()) or (ended and line.strip())):
            found[-1] = found[-1]._replace(certain=False)  # some reader takes it for a line of the file before
        if row is not None:
            path = row[2].strip()
            if not path or not begun:
                return None
            lines = []
            found.append(PatchSection(path, _WHAT[row[1].lower()], lines, True))
        elif marks:
            if re.fullmatch(_KNOWN, line) is None:
                return None
            begun = begun or "begin" in line.lower()
            ended = ended or "end patch" in line.lower()
            lines.append(HUNK)
        elif not ended:
            lines.append(line.rstrip("\r"))
    return tuple(found) if found else None


def text_of_added_file(section: PatchSection) -> str | None:
    """Return the text of a new file, None if it is not certain."""
    lines = [line for line in section.lines if line.strip() and line != HUNK]
    if not section.certain or any(not line.startswith("+") for line in lines):
        return None
    return "".join(f"{line[1:]}\n" for line in lines)


def text_after_hunks(section: PatchSection, before: str | None) -> str | None:
    """Return the text of a file after its hunks, None if it is not certain.

    Programs search for a hunk after the previous one, and accept similar lines if none are equal. So each hunk has to
    match exactly, at one place, after the previous one, and without a context headline.
    """
    if before is None or not section.certain or any(line[:2] == HUNK and line[2:].strip() for line in section.lines):
        return None
    text = f"\n{before}" if before.endswith("\n") or not before else f"\n{before}\n"
    after = 0
    for old, new in _iterate_hunks(section.lines):
        at = text.find(old)
        if at < after or text.find(old, at + 1) >= 0:
            return None
        text = text[:at] + new + text[at + len(old) :]
        after = at + len(new) - 1
    return text[1:]


def _iterate_hunks(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that each hunk removes and those that it inserts, as complete lines."""
    old, new = "\n", "\n"
    for line in (*lines, HUNK):
        if line.startswith(HUNK):
            if old + new != "\n\n":
                yield old, new
            old, new = "\n", "\n"
            continue
        old += "" if line.startswith("+") else f"{line[1:]}\n"
        new += "" if line.startswith("-") else f"{line[1:]}\n"
