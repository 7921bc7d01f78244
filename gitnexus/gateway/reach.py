"""Opens a file of the worktree by path, folder by folder, and follows links only inside the worktree."""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.gateway.paths import is_git_part

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class ReachedFile:
    """A file or folder: `name` in the open folder `fd`; `path` is its real path with links resolved."""

    fd: int
    name: str
    path: str
    stat: os.stat_result


@contextlib.contextmanager
def reach_file(root: Path, path: str, allowed: Callable[[str], str]) -> Iterator[ReachedFile]:
    """Open `path`; `allowed` raises for a forbidden path, and is called again for each link target.

    Raises: Invalid, NotFound, and errors of `allowed`.
    """
    with contextlib.ExitStack() as open_folders:
        fds = [_open_folder(str(root), None, open_folders)]
        here: list[str] = []
        pending = list(reversed(allowed(path).split("/")))
        links = 0
        while True:
            part = pending.pop()
            if part == "..":
                if not here:
                    raise Invalid(f"{one_line(path, 80)!r} is refused: it leads out of the worktree")
                here.pop()
                fds.pop()
                continue
            found = _stat_part(fds[-1], part, path)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                pending += _link_steps(fds[-1], part, path, links)
                allowed("/".join([*here, part]))
            elif not pending:
                yield ReachedFile(fds[-1], part, allowed("/".join([*here, part])), found)
                return
            else:
                fds.append(_open_folder(part, fds[-1], open_folders))
                here.append(part)


def _stat_part(fd: int, part: str, path: str) -> os.stat_result:
    if is_git_part(part):
        raise Invalid(f"{one_line(path, 80)!r} is refused: it leads into .git")
    try:
        return os.stat(part, dir_fd=fd, follow_symlinks=False)
    except OSError as exc:
        raise NotFound(f"there is no {one_line(path, 80)}") from exc


def _link_steps(fd: int, link: str, path: str, links: int) -> list[str]:
    """Return the path components of a link's target, last first."""
    target = os.readlink(link, dir_fd=fd)
    if target.startswith("/") or links > _MOST_LINKS:
        raise Invalid(f"{one_line(path, 80)!r} is refused: a link leads out of the worktree or in a circle")
    steps = [part for part in target.split("/") if part not in ("", ".")]
    if not steps or steps[-1] == "..":
        raise Invalid(f"{one_line(path, 80)!r} is refused: a link leads to a folder above itself")
    return steps[::-1]


def _open_folder(name: str, fd: int | None, open_folders: contextlib.ExitStack) -> int:
    try:
        opened = os.open(name, _FOLDER, dir_fd=fd)
    except OSError as exc:
        raise NotFound(f"{one_line(name, 80)} is not a folder that can be opened") from exc
    open_folders.callback(os.close, opened)
    return opened
