"""Resolves the files that a tool call names, and computes the text that they would have after the call."""

import os

from gitnexus.git.shape import is_git_name
from gitnexus.harness.calls import Call, PatchCall, ReadCall, WriteCall

_LARGEST_TEXT = 1024 * 1024


def resolve_path(path: str) -> str:
    """Return the file that a path leads to, with links followed and `~` expanded."""
    return os.path.realpath(os.path.expanduser(path))


def read_paths(call: ReadCall) -> tuple[str, ...]:
    """Return the files that a call reads, with `..` resolved both by name and by link, because programs differ."""
    spelled = (os.path.normpath(os.path.expanduser(path)) for path in call.paths)
    return tuple(dict.fromkeys((*map(resolve_path, call.paths), *map(resolve_path, spelled))))


def paths_in_call(call: Call) -> tuple[str, ...]:
    """Return the real paths of the files that a call names."""
    if isinstance(call, WriteCall):
        return (resolve_path(call.path),)
    if isinstance(call, ReadCall):
        return read_paths(call)
    return tuple(resolve_path(row.path) for row in call.files) if isinstance(call, PatchCall) else ()


def file_mode(path: str) -> int:
    """Return the mode of a file from `lstat`, 0 if it does not exist."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def file_text(path: str) -> str | None:
    """Return the current text of a file; None if it does not exist, is not a regular file, or is too large."""
    if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_TEXT:
        return None
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def new_text(call: WriteCall) -> str:
    """Return all text that a call would write into the file."""
    return call.content if call.content is not None else "".join(edit.new for edit in call.edits)


def text_after(call: WriteCall, path: str) -> str | None:
    """Return the text of a file after a call; None if it is unknown, or not exactly known for a file that git obeys."""
    if call.content is not None or not call.edits:
        return call.content
    before, exactly = file_text(path), is_git_name(path)
    if exactly and before is None and os.path.lexists(path):
        return None
    text = before or ""
    for edit in call.edits:
        # A program may take what is only alike for what it is to replace.
        if exactly and (text.count(edit.old) != 1 if edit.old else text):
            return None
        text = text.replace(edit.old, edit.new) if edit.old and edit.old in text else f"{text}\n{edit.new}"
    return text
