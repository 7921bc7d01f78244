"""Lists the files that a tool call changes, from its parameters; for a command line, from what its commands do."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from gitnexus.harness.model import HarnessEvent
from gitnexus.harness.writers import files_written_by_command

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


# A run of letters with a digit that is as long as the shortest token.
_LIKE_A_TOKEN = re.compile(r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16}")


def files_changed_by_call(event: HarnessEvent, worktree: str, since: int | None = None) -> tuple[str, ...]:
    """Return the files changed by a successful call, relative to the worktree; absolute if they are elsewhere.

    `since` is when the previous call ended, in nanoseconds: files that a command wrote after that are found on disk.
    """
    names: Iterable[str] = () if event.failed else iterate_named_files(event.harness, event.tool, event.given)
    if event.tool not in PATHS.get(event.harness, {}) and event.tool not in PATCHES.get(event.harness, {}):
        # A command that failed may have done half of its work.
        names = by_shell(event, worktree, since)
    paths = (storable(_path_from_worktree(name, event.cwd or worktree, worktree)) for name in names)
    return tuple(dict.fromkeys(paths))[:_MOST]


def storable(name: str) -> str:
    """Return a file name as it may be stored: an agent can put a token into one."""
    if not _LIKE_A_TOKEN.search(name):
        return name
    from gitnexus.redaction.stored import redact_text  # 20 ms, and few names have a run like that

    return redact_text(name)


def iterate_named_files(harness: str, tool: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that a call says it changes, as spelled in the call."""
    for field in PATHS.get(harness, {}).get(tool, ()):
        if _is_file_name(given.get(field)):
            yield given[field]
    for field in PATCHES.get(harness, {}).get(tool, ()):
        text = given.get(field)
        if isinstance(text, list):
            text = "\n".join(part for part in text if isinstance(part, str))
        if isinstance(text, str):
            yield from filter(_is_file_name, _IN_PATCH.findall(text))


def by_shell(event: HarnessEvent, worktree: str, since: int | None = None) -> list[str]:
    """Return the absolute paths of files that a command line says it changes.

    Unless its commands are known to only read, or to write only what they name, files that changed on disk `since` then
    are added.
    """
    from gitnexus.harness.calls import ShellCall, parse_tool_call  # a table of all tools: only who may be a shell pays

    call = parse_tool_call(event.harness, event.tool, event.given, event.cwd or worktree)
    if not isinstance(call, ShellCall) or call.dialect != "sh" or call.typed:
        return []
    from gitnexus.policy import shell
    from gitnexus.policy.parts import parts_of_commands
    from gitnexus.policy.programs import inner_text

    text = inner_text(call.argv) if call.argv else call.text
    try:
        commands = shell.parse_shell_text(text).commands if text is not None else (shell.ShellCommand(call.argv, True),)
        parts = list(parts_of_commands(commands, os.path.realpath(call.cwd)))
    except shell.TooMuch:
        parts = []
    found = []
    is_all_named = bool(parts)
    for part in parts:
        effect = files_written_by_command(part.argv)
        is_all_named = is_all_named and not effect.anything and _is_known(part.argv)
        for name in (*effect.paths, *part.writes):
            paths = [os.path.join(folder, name) for folder in reversed(part.folders)] if _is_file_name(name) else []
            there = [path for path in paths if os.path.isfile(path)]
            gone = [path for path in paths[:1] if not os.path.lexists(path) and _removes(part.argv)]
            moved = _files_in_moved_folder(part.argv, paths) if not there else []
            found += there[:1] or gone or moved
            # A name that the shell makes up, or a folder that something goes into, tells no file.
            is_all_named = is_all_named and (bool(there or gone) or name.startswith("/dev/"))
    if since is not None and not is_all_named:
        from gitnexus.harness.changed_files import changed_since

        found += changed_since(worktree, since)
    return found


def _is_known(argv: Sequence[str]) -> bool:
    """True for a command that changes no other files than those that its words name."""
    from gitnexus.policy.programs import only_looks, unknown_places

    return bool(argv) and only_looks(argv) and not unknown_places(argv)


def _files_in_moved_folder(argv: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Return the files of a folder that `mv` put at one of `paths`: they keep their times, so no search finds them."""
    words = [word for word in argv if not word.startswith("-")]
    if not (argv[0].rpartition("/")[2] == "mv" or tuple(argv[:2]) == ("git", "mv")) or len(words) < 3:
        return []
    names = [os.path.basename(word.rstrip("/")) for word in words[1:-1]]
    for place in (path for path in paths if os.path.isdir(path)):
        put_inside = [os.path.join(place, name) for name in names if os.path.lexists(os.path.join(place, name))]
        below = (
            os.path.join(top, file)
            for moved in put_inside or [place]
            for top, _, files in os.walk(moved)
            for file in files
        )
        single = [path for path in put_inside if not os.path.isdir(path)]
        return [*single, *islice(below, _MOST)]
    return []


def _removes(argv: Sequence[str]) -> bool:
    return bool(argv) and (
        argv[0].rpartition("/")[2] in ("rm", "mv", "unlink", "shred") or argv[:2] in (("git", "rm"), ("git", "mv"))
    )


def _is_file_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and "\0" not in value and "\n" not in value


def _path_from_worktree(name: str, cwd: str, worktree: str) -> str:
    path = os.path.normpath(os.path.join(cwd, name))
    for top in (worktree, os.path.realpath(worktree)):
        for spelled in (path, os.path.realpath(path)):
            if spelled.startswith(top + os.sep):
                return spelled[len(top) + 1 :].replace(os.sep, "/")
    return path
