"""Lists the files of a checkout that are not in a commit, ignored or not, without reading git's config."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from gitnexus.git.commits import tree_of_commit
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import list_tree_files
from gitnexus.git.walk import CommitTree


class UntrackedFile(NamedTuple):
    """A file or link; `ignored` if a .gitignore of the commit matches it; `link` is a link's target, else None."""

    path: str
    size: int
    ignored: bool
    link: str | None = None


def list_untracked_files(
    git: PrivateGit, checkout: Path, commit: str, enters: Callable[[str], bool]
) -> Iterator[UntrackedFile]:
    """Yield the files that are not in the commit, by name; only folders that `enters` accepts are searched.

    No link is followed, and repositories in the checkout keep their `.git`. Raises: OSError, GitFailed.
    """
    base = CommitTree(git, list_tree_files(git, tree_of_commit(git, commit)))
    yield from _walk_folder(base, checkout, "", False, enters)


def _walk_folder(
    base: CommitTree, folder: Path, prefix: str, within: bool, enters: Callable[[str], bool]
) -> Iterator[UntrackedFile]:
    """Yield the files of one folder. `within`: the folder itself is ignored, and so is everything in it."""
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
            yield from _walk_folder(base, folder / entry.name, f"{path}/", ignored, enters)
        elif entry.is_symlink():
            yield UntrackedFile(path, 0, ignored, str(Path(entry.path).readlink()))
        elif entry.is_file(follow_symlinks=False):
            yield UntrackedFile(path, entry.stat(follow_symlinks=False).st_size, ignored)
