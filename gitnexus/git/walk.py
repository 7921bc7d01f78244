"""A walk over a worktree's files: no link followed, and ignored is only what the base commit's .gitignore files name.

An agent may have written other rules since, to hide what it did.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gitnexus.base.globs import as_text
from gitnexus.git.private import PrivateGit
from gitnexus.git.rows import GITLINK, TreeEntry, blob

# Far deeper than any project, and few enough for the descriptors that a process may have.
_DEEPEST = 200
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(NamedTuple):
    """Something below the top: `name` in the open folder `fd`, which is closed when the walk goes on.

    `why` says what keeps a folder from being entered.
    """

    fd: int
    name: str
    path: str
    stat: os.stat_result
    why: str = ""


class Base:
    """The files of a commit's tree, its folders and its ignore rules; each rule file is read when it is needed."""

    def __init__(self, git: PrivateGit, entries: Iterator[TreeEntry]) -> None:
        self._git = git
        self._specs: dict[str, Any] = {}
        self.files: Mapping[str, TreeEntry] = {entry.path: entry for entry in entries}
        self.folders = frozenset(_folders(self.files))

    def ignored(self, path: str, is_folder: bool) -> bool:
        """True if `path` is not in the commit and the deepest rule that speaks of it says so."""
        if path in self.files or (is_folder and path in self.folders):
            return False
        for prefix in _prefixes(path):
            spec = self._spec(prefix)
            if spec is not None:
                said = spec.check_file(as_text(path[len(prefix) :]) + ("/" if is_folder else "")).include
                if said is not None:
                    return bool(said)
        return False

    def _spec(self, prefix: str) -> Any:
        if prefix not in self._specs:
            entry = self.files.get(f"{prefix}.gitignore")
            self._specs[prefix] = None
            if entry is not None and entry.mode in ("100644", "100755"):
                import pathspec  # 40 ms: only a repository with a .gitignore pays

                text = blob(self._git, entry.oid).decode("utf-8", "replace")
                self._specs[prefix] = pathspec.GitIgnoreSpec.from_lines(text.split("\n"))
        return self._specs[prefix]


def walked(base: Base, worktree: Path, below: str = "") -> Iterator[Found]:
    """Yield what lies in `worktree`, by name, folder by folder; folders themselves only if they are not entered.

    `below` is a folder to begin at, without links on the way. Raises: OSError if it cannot be opened.
    """
    fd = os.open(worktree, _FOLDER)
    try:
        for part in below.split("/") if below else ():
            deeper = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = deeper
        yield from _folder(base, fd, f"{below}/" if below else "")
    finally:
        os.close(fd)


def _folder(base: Base, fd: int, prefix: str) -> Iterator[Found]:
    for name in sorted(os.listdir(fd)):
        if name.casefold() == ".git" or (not prefix and name == ".nexus"):
            continue
        path = prefix + name
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            continue  # it went away while we looked
        is_folder = stat.S_ISDIR(found.st_mode)
        if base.ignored(path, is_folder):
            continue
        if is_folder:
            yield from _below(base, Found(fd, name, path, found))
        else:
            yield Found(fd, name, path, found)


def _below(base: Base, found: Found) -> Iterator[Found]:
    if found.path.count("/") >= _DEEPEST:
        yield found._replace(why=f"it lies more than {_DEEPEST} folders deep")
        return
    try:
        below = os.open(found.name, _FOLDER, dir_fd=found.fd)
    except OSError as exc:
        yield found._replace(why=f"it cannot be opened: {exc.strerror}")
        return
    try:
        known = base.files.get(found.path)
        if known is not None and known.mode == GITLINK:
            yield found._replace(why="it is a submodule")
        elif any(entry.casefold() == ".git" for entry in os.listdir(below)):
            yield found._replace(why="it is a repository of its own")
        else:
            yield from _folder(base, below, found.path + "/")
    finally:
        os.close(below)


def _folders(paths: Iterable[str]) -> set[str]:
    found = {path.rpartition("/")[0] for path in paths}
    above = found
    while above := {path.rpartition("/")[0] for path in above} - found:
        found |= above
    return found - {""}


def _prefixes(path: str) -> Iterator[str]:
    """Yield the folders that `path` lies in, the deepest first, the top as ''."""
    at = path.rfind("/")
    while at >= 0:
        yield path[: at + 1]
        at = path.rfind("/", 0, at)
    yield ""
