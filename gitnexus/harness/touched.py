"""Which files a tool call changes, as far as its own words tell: a command line does not."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitnexus.harness.model import Happening

# By harness and tool, the fields that hold a path. A test holds them against the catalog's table of tools.
PATHS: dict[str, dict[str, tuple[str, ...]]] = {
    "claude-code": {
        "Write": ("file_path",),
        "Edit": ("file_path",),
        "MultiEdit": ("file_path",),
        "NotebookEdit": ("notebook_path", "file_path"),
    },
    "codex": {},
    "gemini-cli": {"write_file": ("file_path",), "replace": ("file_path",)},
    "opencode": {"write": ("filePath",), "edit": ("filePath",)},
}
# The fields that hold a patch, which names its files itself.
PATCHES: dict[str, dict[str, tuple[str, ...]]] = {
    "codex": {"apply_patch": ("command", "input", "patch")},
    "opencode": {"apply_patch": ("patchText",)},
}
_MOST, _LONGEST = 50, 500
_IN_PATCH = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)[ \t]*$", re.MULTILINE)


def touched(told: Happening, worktree: str) -> tuple[str, ...]:
    """Return the files of a call that did its work, from the top of the worktree; in full if they lie elsewhere."""
    names = () if told.failed else named(told.harness, told.tool, told.given)
    return tuple(dict.fromkeys(_from_top(name, told.cwd or worktree, worktree) for name in names))[:_MOST]


def named(harness: str, tool: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that a call names as those it changes, as it names them."""
    for field in PATHS.get(harness, {}).get(tool, ()):
        if _is_name(given.get(field)):
            yield given[field]
    for field in PATCHES.get(harness, {}).get(tool, ()):
        text = given.get(field)
        if isinstance(text, list):
            text = "\n".join(part for part in text if isinstance(part, str))
        if isinstance(text, str):
            yield from filter(_is_name, _IN_PATCH.findall(text))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and "\0" not in value and "\n" not in value


def _from_top(name: str, cwd: str, worktree: str) -> str:
    path = os.path.normpath(os.path.join(cwd, name))
    for top in (worktree, os.path.realpath(worktree)):
        for spelled in (path, os.path.realpath(path)):
            if spelled.startswith(top + os.sep):
                return spelled[len(top) + 1 :].replace(os.sep, "/")
    return path
