"""Holds sections against the files of a tree and returns each file's new content, or why a place is unclear. Pure."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from gitnexus.base.errors import Conflict, Invalid
from gitnexus.base.text import one_line
from gitnexus.gateway.dialects.model import FileSection, PatchHunk
from gitnexus.gateway.dialects.place import find_place, numbered_lines
from gitnexus.git.patches import FileEdit

FILE, EXECUTABLE = "100644", "100755"


class _FileText(NamedTuple):
    """A file as lines without their ending `ends`; `closed` if the last one has it."""

    lines: list[str]
    ends: str
    closed: bool


def edits_of_sections(
    sections: Sequence[FileSection], modes: Mapping[str, str], read: Callable[[str], bytes]
) -> list[FileEdit]:
    """Return the new content of each file. `modes` are the files that may be read, `read` returns their content.

    Raises: Invalid, Conflict if a hunk fits nowhere or in several positions.
    """
    found = []
    for section in sections:
        for path in {section.source, section.target} - {""}:
            _refuse_odd_path(path, section.row)
        found += _edits_of_section(section, modes, read)
    return found


def _edits_of_section(section: FileSection, modes: Mapping[str, str], read: Callable[[str], bytes]) -> list[FileEdit]:
    source, target = section.source, section.target
    if not source:
        if target in modes:
            raise Conflict(f"{one_line(target, 80)} exists already, so it cannot be created")
        return [FileEdit(target, _content_of_new(section), EXECUTABLE if section.executable else FILE)]
    if section.content is not None and source not in modes:  # a whole file: it need not be there
        return [FileEdit(target, section.content.encode("utf-8", "surrogateescape"), FILE)]
    if source not in modes:
        raise Conflict(f"there is no file {one_line(source, 80)}", context={"path": source})
    if modes[source] not in (FILE, EXECUTABLE):
        raise Invalid(f"{one_line(source, 80)} is not an ordinary file: it needs an exact diff of git")
    if target != source and target in modes:
        raise Conflict(f"{one_line(target, 80)} already exists, so nothing can be moved there")
    old = read(source)
    if section.content is not None:
        return [FileEdit(target, _with_endings_of(section.content, old), modes[source])]
    new = _changed_content(source, old, section.hunks)
    if not target:
        if section.hunks and new:
            raise Conflict(f"{one_line(source, 80)} would be deleted, but it has more lines than the diff removes")
        return [FileEdit(source, None, "")]
    moved = [FileEdit(source, None, "")] if target != source else []
    return [*moved, FileEdit(target, new, modes[source])]


def _content_of_new(section: FileSection) -> bytes:
    if section.content is not None:
        return section.content.encode("utf-8", "surrogateescape")
    if any(hunk.old for hunk in section.hunks):
        raise Conflict(f"{one_line(section.target, 80)} is new, so no line of it can stay or go")
    lines = [line for hunk in section.hunks for line in hunk.new]
    text = "\n".join(lines) + ("" if not lines or section.hunks[-1].new_open else "\n")
    return text.encode("utf-8", "surrogateescape")


def _changed_content(path: str, raw: bytes, hunks: Sequence[PatchHunk]) -> bytes:
    """Return a file's content after all hunks, each of which has one position in the original file."""
    file = _parse_file(raw)
    if b"\r" not in raw or file.ends == "\r\n":
        hunks = [_without_returns(hunk) for hunk in hunks]
    runs: list[tuple[int, int, list[str], int]] = []
    closed = file.closed
    for hunk in hunks:
        at = find_place(path, file.lines, hunk)
        if at + len(hunk.old) == len(file.lines) and (hunk.old_open or hunk.new_open):
            closed = not hunk.new_open
        runs += _runs_of_hunk(at, hunk)
    runs.sort(key=lambda run: run[:2])
    for one, other in pairwise(runs):
        if one[1] > other[0] or one[:2] == other[:2]:
            raise Conflict(
                f"two hunks change the same lines of {one_line(path, 80)}",
                context={"path": path, "around": numbered_lines(file.lines, other[0], other[1])},
            )
    lines = list(file.lines)
    for start, end, new, _ in reversed(runs):
        lines[start:end] = new
    text = file.ends.join(lines) + (file.ends if lines and closed else "")
    return text.encode("utf-8", "surrogateescape")


def _runs_of_hunk(at: int, hunk: PatchHunk) -> list[tuple[int, int, list[str], int]]:
    """Return the runs of changed lines of a hunk placed at `at`; unchanged lines stay as they are in the file."""
    found: list[tuple[int, int, list[str], int]] = []
    start, here = at, at
    new: list[str] = []
    for kind, text in (*hunk.lines, (" ", "")):
        if kind == " ":
            if new or here > start:
                found.append((start, here, new, hunk.row))
            here += 1
            start, new = here, []
        elif kind == "-":
            here += 1
        else:
            new.append(text)
    return found


def _without_returns(hunk: PatchHunk) -> PatchHunk:
    """Return a hunk without carriage returns at the ends of lines: a file of one kind of ending keeps that."""
    return hunk._replace(lines=tuple((kind, text.removesuffix("\r")) for kind, text in hunk.lines))


def _parse_file(raw: bytes) -> _FileText:
    text = raw.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    closed = lines[-1] == ""
    if closed:
        lines.pop()
    told = lines if closed else lines[:-1]
    if told and all(line.endswith("\r") for line in told):
        return _FileText([line.removesuffix("\r") for line in lines], "\r\n", closed)
    return _FileText(lines, "\n", closed)


def _with_endings_of(content: str, old: bytes) -> bytes:
    """Return a whole file's content with the line endings of the file that it replaces."""
    ends = _parse_file(old).ends
    plain = content.replace("\r\n", "\n")
    return plain.replace("\n", ends).encode("utf-8", "surrogateescape")


def _refuse_odd_path(path: str, row: int) -> None:
    """Refuse a path that leads out of the worktree or into git's own folder. Raises: Invalid."""
    parts = path.split("/")
    why = ""
    if path.startswith(("/", "~")) or (len(path) > 1 and path[1] == ":"):
        why = "it is not relative to the worktree"
    elif any(part in ("", ".", "..") for part in parts):
        why = "it leads out of the worktree or is not written plainly"
    elif any(part.lower() == ".git" for part in parts):
        why = "it belongs to git"
    elif "\0" in path or "\\" in path:
        why = "it is not the path of a file here"
    if why:
        raise Invalid(f"line {row}: the patch is refused for {one_line(path, 80)!r}: {why}", context={"path": path})
