"""Applies the hunks of a unified diff to a text. Line numbers and context must match exactly, or an error is raised."""

import re

from gitnexus.base.errors import Conflict

_HEAD = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,\d{1,9})? @@.*")
_NO_END = "\\ No newline at end of file"


def apply_hunks(text: str, diff: str) -> str:
    """Return `text` with the hunks of `diff` applied. Raises: Conflict if one does not fit exactly."""
    before, made = _split_lines(text), list[str]()
    at = 0
    lines = diff.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    row = _find_first_hunk(lines)
    while row < len(lines):
        head = _HEAD.fullmatch(lines[row])
        if head is None:
            raise Conflict("the diff is of a form that is not known here")
        count = int(head[2]) if head[2] is not None else 1
        start = int(head[1]) - (1 if count else 0)
        if not at <= start <= len(before):
            raise Conflict("the diff does not fit the file")
        made += before[at:start]
        row, old, new = _read_hunk(lines, row + 1)
        if before[start : start + len(old)] != old or len(old) != count:
            raise Conflict("the diff does not fit the file")
        made += new
        at = start + len(old)
    return "".join([*made, *before[at:]])


def _split_lines(text: str) -> list[str]:
    """Return the lines with their line ends; only a newline ends a line."""
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def _find_first_hunk(lines: list[str]) -> int:
    """Return the position of the first hunk; file names may precede it."""
    for at, line in enumerate(lines):
        if line.startswith("@@"):
            return at
    raise Conflict("the diff has no hunk")


def _read_hunk(lines: list[str], row: int) -> tuple[int, list[str], list[str]]:
    old: list[str] = []
    new: list[str] = []
    last: list[list[str]] = []
    while row < len(lines) and not lines[row].startswith("@@"):
        mark, body = lines[row][:1], f"{lines[row][1:]}\n"
        if lines[row] == _NO_END:
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
        elif mark not in (" ", "-", "+", ""):
            raise Conflict("the diff is of a form that is not known here")
        else:
            last = [side for side, marks in ((old, (" ", "-", "")), (new, (" ", "+", ""))) if mark in marks]
            for side in last:
                side.append(body)
        row += 1
    return row, old, new
