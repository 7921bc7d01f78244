"""The files that lie in a checkout beside those of a commit: ignored or forgotten, read without asking git's config."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from gitnexus.git.commits import tree_of
from gitnexus.git.private import PrivateGit
from gitnexus.git.rows import files
from gitnexus.git.walk import Base


class Untracked(NamedTuple):
    """A file or a link; `ignored` if a .gitignore of the commit names it, `link` where it leads, None for a file."""

    path: str
    size: int
    ignored: bool
    link: str | None = None


def untracked(git: PrivateGit, checkout: Path, commit: str, enters: Callable[[str], bool]) -> Iterator[Untracked]:
    """Yield what the commit does not hold, by name; only folders that `enters` says yes to are looked into.

    No link is followed, and repositories in the checkout keep their `.git`. Raises: OSError, GitFailed.
    """
    base = Base(git, files(git, tree_of(git, commit)))
    yield from _below(base, checkout, "", False, enters)


def _below(base: Base, folder: Path, prefix: str, within: bool, enters: Callable[[str], bool]) -> Iterator[Untracked]:
    """`within`: the folder itself is ignored, and so is all that lies in it."""
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.casefold() == ".git" or (not prefix and entry.name == ".nexus"):
            continue
        path = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if path in base.files or (is_folder and not enters(path)):
            continue
        ignored = within or base.ignored(path, is_folder)
        if is_folder:
            yield from _below(base, folder / entry.name, f"{path}/", ignored, enters)
        elif entry.is_symlink():
            yield Untracked(path, 0, ignored, str(Path(entry.path).readlink()))
        elif entry.is_file(follow_symlinks=False):
            yield Untracked(path, entry.stat(follow_symlinks=False).st_size, ignored)
