"""Parses search/replace blocks, and whole files in fenced blocks that name their path. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.gateway.dialects.model import FileSection, PatchHunk

_SEARCH = re.compile(r"(?:<{5,9} ?|-{5,9} )(?:SEARCH|ORIGINAL)\s*(.*)")
_MIDDLE = re.compile(r"={5,9}\s*")
_REPLACE = re.compile(r"(?:>{5,9} ?|\+{5,9} )(?:REPLACE|UPDATED)\s*")
_FENCE = re.compile(r"(`{3,}|~{3,})\s*(.*?)\s*")
_ATTRIBUTE = re.compile(r"""(?:path|file|filename|title)\s*[=:]\s*["']?([^"'\s}]+)""")
_LABEL = re.compile(
    r"(?:#{1,6}\s+|[-*]\s+|//\s*|#\s*)?(?:(?:file(?:name)?|path)\s*:\s*)?"
    r"[*_`\"']*([^*`\"'\s:]+)[*_`\"':]*",
    re.IGNORECASE,
)
# A line that represents omitted lines: taken literally, it would delete them.
_ELIDED = re.compile(
    r"\s*(?:#|//|/\*|<!--|--|;|%)?\s*(?:\.\.\.|…)\s*(?:\(?.*\b(?:rest|existing|unchanged|remain\w*|"
    r"same|previous|other|omitted|code)\b.*)?(?:\*/|-->)?\s*|\s*(?:#|//|/\*|<!--)\s*.*\b(?:rest of|"
    r"remaining|existing|unchanged)\b.*\b(?:file|code|content|unchanged|same|here|as before)\b.*",
    re.IGNORECASE,
)


class FencedBlock(NamedTuple):
    """A fenced block: its info words, its lines, the line above it that names something, and its first line's row."""

    info: str
    lines: tuple[str, ...]
    label: str
    row: int


def has_search_blocks(lines: Sequence[str]) -> bool:
    """Return True if a search/replace block begins somewhere."""
    return any(_SEARCH.fullmatch(line.rstrip("\r")) for line in lines)


def parse_search_blocks(lines: Sequence[str]) -> list[FileSection]:
    """Return the sections of all search/replace blocks, one for each file. Raises: Invalid."""
    hunks: dict[str, list[PatchHunk]] = {}
    rows: dict[str, int] = {}
    at, path = 0, ""
    while at < len(lines):
        begin = _SEARCH.fullmatch(lines[at].rstrip("\r"))
        if begin is None:
            at += 1
            continue
        path = begin[1].strip() or _path_above(lines, at) or path
        if not path:
            raise Invalid(f"line {at + 1}: the block does not say which file it changes", hint="write its path above")
        middle = _next_mark(lines, at + 1, _MIDDLE, "=======")
        end = _next_mark(lines, middle + 1, _REPLACE, ">>>>>>> REPLACE")
        if any(_MIDDLE.fullmatch(line) for line in lines[middle + 1 : end]):
            raise Invalid(f"line {at + 1}: the block has several lines =======, so its halves cannot be told apart")
        old, new = lines[at + 1 : middle], lines[middle + 1 : end]
        if list(old) == list(new):
            raise Invalid(f"line {at + 1}: the block changes nothing")
        rows.setdefault(path, at + 1)
        changed = (*(("-", text) for text in old), *(("+", text) for text in new))
        hunks.setdefault(path, []).append(PatchHunk(changed, row=at + 1))  # type: ignore[arg-type]
        at = end + 1
    return [_section_of_blocks(path, tuple(made), rows[path]) for path, made in hunks.items()]


def fenced_blocks(lines: Sequence[str]) -> list[FencedBlock]:
    """Return the fenced blocks of a text. Raises: Invalid for one that is not closed."""
    found = []
    at = 0
    while at < len(lines):
        opened = _FENCE.fullmatch(lines[at].rstrip("\r"))
        if opened is None:
            at += 1
            continue
        mark = opened[1]
        end = next((row for row in range(at + 1, len(lines)) if _closes(lines[row], mark)), None)
        if end is None:
            raise Invalid(f"line {at + 1}: the block is not closed: the answer may be cut off")
        label = next((lines[row] for row in range(at - 1, max(at - 3, -1), -1) if lines[row].strip()), "")
        found.append(FencedBlock(opened[2], tuple(lines[at + 1 : end]), label.strip(), at + 1))
        at = end + 1
    return found


def parse_whole_files(blocks: Sequence[FencedBlock]) -> list[FileSection]:
    """Return a section for each block that names a file. Raises: Invalid."""
    found = []
    for block in blocks:
        path = _path_of_block(block)
        if not path:
            continue
        elided = next((line for line in block.lines if _ELIDED.fullmatch(line)), None)
        if elided is not None:
            words = f"{one_line(elided, 60)!r} marks omitted lines"
            raise Invalid(f"line {block.row}: {one_line(path, 80)} is not given whole: {words}")
        if not any(line.strip() for line in block.lines):
            raise Invalid(f"line {block.row}: the block for {one_line(path, 80)} is empty")
        content = "".join(f"{line}\n" for line in block.lines)
        found.append(FileSection(path, path, content=content, row=block.row))
    return found


def _closes(line: str, mark: str) -> bool:
    words = line.rstrip()
    return len(words) >= len(mark) and set(words) == {mark[0]}


def _path_of_block(block: FencedBlock) -> str:
    """Return the path that a block's info words or the line above it name; empty if none."""
    if found := _ATTRIBUTE.search(block.info):
        return found[1]
    language, _, rest = block.info.partition(":")
    if rest and _looks_like_path(rest.strip()):
        return rest.strip()
    if _looks_like_path(language) and ("/" in language or "." in language):
        return language
    return _path_in_label(block.label)


def _path_in_label(label: str) -> str:
    found = _LABEL.fullmatch(label)
    return found[1] if found and _looks_like_path(found[1]) else ""


def _looks_like_path(word: str) -> bool:
    return (
        bool(re.fullmatch(r"[^\s`<>|]+", word))
        and ("/" in word or "." in word)
        and "://" not in word
        and bool(word.strip("."))
    )


def _path_above(lines: Sequence[str], at: int) -> str:
    """Return the path on the line above a block, or above the fence around it."""
    rows = [line.strip() for line in reversed(lines[max(0, at - 4) : at])]
    for line in rows:
        if not line:
            continue
        fence = _FENCE.fullmatch(line)
        if fence is not None:
            if path := _path_of_block(FencedBlock(fence[2], (), "", 0)):
                return path
            continue
        found = _LABEL.fullmatch(line)  # here a name without a dot, such as Makefile, is meant as one
        return found[1] if found and "://" not in found[1] else ""
    return ""


def _next_mark(lines: Sequence[str], at: int, mark: re.Pattern[str], words: str) -> int:
    for row in range(at, len(lines)):
        if mark.fullmatch(lines[row].rstrip("\r")):
            return row
        if _SEARCH.fullmatch(lines[row].rstrip("\r")):
            break
    raise Invalid(f"line {at}: the block has no line {words!r}: it may be cut off")


def _section_of_blocks(path: str, hunks: tuple[PatchHunk, ...], row: int) -> FileSection:
    """Return the section of one file; one block that searches for nothing makes a new file."""
    if any(not hunk.old for hunk in hunks):
        if len(hunks) > 1:
            raise Invalid(f"line {row}: a block for {one_line(path, 80)} searches for nothing, so it has no place")
        return FileSection("", path, content="".join(f"{text}\n" for text in hunks[0].new), row=row)
    return FileSection(path, path, hunks, row=row)
