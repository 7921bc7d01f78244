"""Walks the files of a worktree without following links. Only `.gitignore` files of the base commit hide files.

An agent may have changed the ignore rules in the worktree to hide what it did.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gitnexus.base.globs import path_as_text
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import GITLINK, TreeEntry, read_blob

# Far deeper than any project, and few enough for the descriptors that a process may have.
_DEEPEST = 200
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class WalkedItem(NamedTuple):
    """An item below the top folder: `name` in the open folder `fd`, which is closed when the walk continues.

    `why` is the reason why a folder is not entered.
    """

    fd: int
    name: str
    path: str
    stat: os.stat_result
    why: str = ""


class CommitTree:
    """The files, folders and ignore rules of a commit's tree; each rule file is read on first use."""

    def __init__(self, git: PrivateGit, entries: Iterator[TreeEntry]) -> None:
        self._git = git
        self._specs: dict[str, Any] = {}
        self.files: Mapping[str, TreeEntry] = {entry.path: entry for entry in entries}
        self.folders = frozenset(_parent_folders(self.files))

    def ignored(self, path: str, is_folder: bool) -> bool:
        """Return True if `path` is not in the commit and the deepest matching ignore rule excludes it."""
        if path in self.files or (is_folder and path in self.folders):
            return False
        for prefix in _folder_prefixes(path):
            spec = self._ignore_spec(prefix)
            if spec is not None:
                said = spec.check_file(path_as_text(path[len(prefix) :]) + ("/" if is_folder else "")).include
                if said is not None:
                    return bool(said)
        return False

    def _ignore_spec(self, prefix: str) -> Any:
        if prefix not in self._specs:
            entry = self.files.get(f"{prefix}.gitignore")
            self._specs[prefix] = None
            if entry is not None and entry.mode in ("100644", "100755"):
                import pathspec  # 40 ms: only a repository with a .gitignore pays

                text = read_blob(self._git, entry.oid).decode("utf-8", "replace")
                self._specs[prefix] = pathspec.GitIgnoreSpec.from_lines(text.split("\n"))
        return self._specs[prefix]


def walk_worktree(base: CommitTree, worktree: Path, below: str = "") -> Iterator[WalkedItem]:
    """Yield the items of `worktree` by name, folder by folder; folders themselves only if they are not entered.

    `below` is the folder to start at, reached without following links. Raises: OSError if it cannot be opened.
    """
    fd = os.open(worktree, _FOLDER)
    try:
        for part in below.split("/") if below else ():
            deeper = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = deeper
        yield from _walk_folder(base, fd, f"{below}/" if below else "")
    finally:
        os.close(fd)


def _walk_folder(base: CommitTree, fd: int, prefix: str) -> Iterator[WalkedItem]:
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
            yield from _enter_folder(base, WalkedItem(fd, name, path, found))
        else:
            yield WalkedItem(fd, name, path, found)


def _enter_folder(base: CommitTree, found: WalkedItem) -> Iterator[WalkedItem]:
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
            yield found._replace(why="it is a separate repository")
        else:
            yield from _walk_folder(base, below, found.path + "/")
    finally:
        os.close(below)


def _parent_folders(paths: Iterable[str]) -> set[str]:
    found = {path.rpartition("/")[0] for path in paths}
    above = found
    while above := {path.rpartition("/")[0] for path in above} - found:
        found |= above
    return found - {""}


def _folder_prefixes(path: str) -> Iterator[str]:
    """Yield the folders that contain `path`, deepest first; the top is ''."""
    at = path.rfind("/")
    while at >= 0:
        yield path[: at + 1]
        at = path.rfind("/", 0, at)
    yield ""
