"""Finds the code and quotations in a Markdown message: text that is shown but not meant as an instruction. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

Range = tuple[int, int]

_FENCE = re.compile(r"( {0,3})((?:(?:[-+*]|\d{1,9}[.)]) {1,4})*)(`{3,}|~{3,})(.*)")
_QUOTED = re.compile(r" {0,3}>")
_INDENTED = re.compile(r" {0,3}\t| {4}")
# A line that is a block by itself, and one that begins a new block: no code span reaches over it.
_ALONE = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|(?:=+|(?:[-*_][ \t]*){3,})$)")
_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
_MARKER = re.compile(r"( {0,3}(?:[-+*]|\d{1,9}[.)]))( +|\t|$)")
_TICKS = re.compile(r"`+")
_MARKS = re.compile(r'"+|[“”„«»‘’]')
_CLOSED_BY = {'"': '"', '"""': '"""', "“": "”", "„": "“”", "«": "»", "‘": "’"}


class _Fence(NamedTuple):
    """The mark of a fenced block that is open, and the column at which the list item begins that it is in."""

    mark: str
    column: int


def code_and_quotation_ranges(text: str) -> list[Range]:
    """Return the ranges of `text` that are code or quotations, sorted and apart from each other."""
    blocks, hidden = _split_blocks(text)
    for start, end in blocks:
        hidden += _code_span_ranges(text, start, end)
    hidden = _join_ranges(hidden)
    return _join_ranges([*hidden, *_quotation_ranges(text, hidden)])


def is_in_ranges(ranges: list[Range], at: int) -> bool:
    """Return True if a position is in one of `ranges`."""
    found = bisect_left(ranges, (at + 1, -1)) - 1
    return found >= 0 and at < ranges[found][1]


def _split_blocks(text: str) -> tuple[list[Range], list[Range]]:
    """Return the runs of lines in which code spans may lie, and what is code or a block quotation already."""
    blocks: list[Range] = []
    hidden: list[Range] = []
    fence: _Fence | None = None
    items: list[int] = []
    joins = False
    for start, end in _line_ranges(text):
        line = text[start:end]
        indent = _indent_of_line(line)
        if fence is not None and (not line.strip() or indent >= fence.column):
            hidden.append((start, end))
            fence = None if _closes_fence(line, fence) else fence
            joins = False
            continue
        fence = None  # it ends with the item of a list that it is in
        if not line.strip():
            joins = False
            continue
        opened = _opening_fence(line)
        if joins and opened is None and not _ITEM.match(line) and not _ALONE.match(line) and not _QUOTED.match(line):
            blocks[-1] = (blocks[-1][0], end)
            continue
        items = [column for column in items if column <= indent]
        if opened is not None:
            hidden.append((start, end))
            fence = opened if opened.column or not items else opened._replace(column=items[-1])
            joins = False
        elif _QUOTED.match(line) or (not joins and _INDENTED.match(line)):
            hidden.append((start, end))
            joins = False
        else:
            blocks.append((start, end))
            joins = not _ALONE.match(line)
        items += _item_columns(line, items[-1] if items else 0)
    return blocks, hidden


def _indent_of_line(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def _item_columns(line: str, at: int) -> Iterator[int]:
    """Yield the columns at which the content of the list items begins that a line opens from column `at` on."""
    while not _ALONE.match(line) and (found := _MARKER.match(line, at)):
        at = found.end(1) + (len(found[2]) if 0 < len(found[2]) <= 4 else 1)
        yield at


def _line_ranges(text: str) -> Iterator[Range]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _opening_fence(line: str) -> _Fence | None:
    """Return the fence that a line opens, None if it opens none."""
    found = _FENCE.match(line)
    if found is None or (found[3][0] == "`" and "`" in found[4]):
        return None
    return _Fence(found[3], len(found[1] + found[2]) if found[2] else 0)


def _closes_fence(line: str, fence: _Fence) -> bool:
    mark = line.strip()
    return _indent_of_line(line) <= fence.column + 3 and len(mark) >= len(fence.mark) and set(mark) == {fence.mark[0]}


def _code_span_ranges(text: str, start: int, end: int) -> Iterator[Range]:
    """Yield the code spans of one block: a run of backticks up to the next run of the same length."""
    runs = [(found.start(), found.end()) for found in _TICKS.finditer(text, start, end)]
    by_length: dict[int, list[int]] = {}
    for at, stop in runs:
        by_length.setdefault(stop - at, []).append(at)
    done = start
    for at, stop in runs:
        opening = at + _escape_offset(text, start, at)
        if at < done or opening == stop:
            continue
        closers = by_length.get(stop - opening, [])
        found = bisect_left(closers, stop)
        if found < len(closers):
            done = closers[found] + stop - opening
            yield opening, done


def _escape_offset(text: str, start: int, at: int) -> int:
    """Return 1 if the character at `at` is escaped by a backslash, else 0."""
    before = at
    while before > start and text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2


def _quotation_ranges(text: str, hidden: list[Range]) -> Iterator[Range]:
    """Yield the text between quotation marks; a mark that is not closed, as in 5", begins no quotation."""
    marks = [found for found in _MARKS.finditer(text) if not is_in_ranges(hidden, found.start())]
    closing: dict[str, list[int]] = {}
    for found in marks:
        if _may_close_quotation(text, found):
            closing.setdefault(found[0], []).append(found.start())
    done = 0
    for found in marks:
        if found.start() < done or not _may_open_quotation(text, found):
            continue
        ends = []
        for mark in _closing_marks(found[0]):
            places = closing.get(mark, [])
            at = bisect_left(places, found.end())
            ends += [places[at] + len(mark)] if at < len(places) else []
        if ends:
            done = min(ends)
            yield found.start(), done


def _closing_marks(mark: str) -> tuple[str, ...]:
    found = _CLOSED_BY.get(mark, "")
    return (found,) if mark.startswith('"') and found else tuple(found)


def _may_open_quotation(text: str, found: re.Match[str]) -> bool:
    if not found[0].startswith('"'):
        return True
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    return (not before or before.isspace() or before in "([{<—–-/:=,;") and (after == "\n" or not after.isspace())


def _may_close_quotation(text: str, found: re.Match[str]) -> bool:
    after = text[found.end() : found.end() + 1]
    return found[0] not in ('"', '"""', "’") or not after.isalnum()


def _join_ranges(ranges: list[Range]) -> list[Range]:
    """Return ranges sorted, and those that touch as one."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
