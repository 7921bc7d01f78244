"""Lists the files of a worktree that were written or moved since a given time, to find what a command changed."""

import os
import time
from collections import deque
from collections.abc import Iterator

from gitnexus.base.errors import NexusError
from gitnexus.state import disk

# Folders that hold what others made, and ours; a look into them would take longer than all the rest.
_SKIPPED = frozenset(
    ".git .nexus .hg .svn node_modules .venv venv __pycache__ .mypy_cache .ruff_cache .pytest_cache .tox .cache".split()
)
# A look that a person would notice ends there, the files nearest to the top looked at first: about 200,000 of them.
_LONGEST_LOOK = 0.5
_BETWEEN_LOOKS_AT_THE_CLOCK = 1_000
_LARGEST = 256 * 1024


def changed_since(worktree: str, since: int, seconds: float = _LONGEST_LOOK) -> list[str]:
    """Return the files written or moved after `since` (nanoseconds), without those that the project ignores.

    After `seconds` the search ends with what it has, the upper folders first.
    """
    found, until = [], time.monotonic() + seconds
    for number, entry in enumerate(_files(worktree)):
        if number % _BETWEEN_LOOKS_AT_THE_CLOCK == 0 and number and time.monotonic() > until:
            break
        try:
            stat = entry.stat(follow_symlinks=False)
            # What is moved or unpacked keeps its time, but not that of its inode.
            if max(stat.st_mtime_ns, stat.st_ctime_ns) > since:
                found.append(entry.path)
        except OSError:
            continue
    return _unignored(worktree, sorted(found)) if found else []


def _files(folder: str) -> Iterator["os.DirEntry[str]"]:
    pending = deque([folder])
    while pending:
        try:
            with os.scandir(pending.popleft()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED:
                            pending.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry
        except OSError:
            continue


def _unignored(worktree: str, paths: list[str]) -> list[str]:
    try:
        held = disk.load_path(worktree, ".gitignore", _LARGEST)
    except (NexusError, OSError):
        return paths
    if held is None:
        return paths
    from pathspec import GitIgnoreSpec  # only where something changed and something is ignored

    try:
        ignored = GitIgnoreSpec.from_lines(held[0].decode("utf-8", "replace").splitlines())
    except ValueError:
        return paths
    return [path for path in paths if not ignored.match_file(os.path.relpath(path, worktree))]
