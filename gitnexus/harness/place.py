"""Which project a hook was called in, found without starting git: `.git` above a folder, and our mark in it."""

import os
from typing import NamedTuple

_LONGEST = 64 * 1024


class Place(NamedTuple):
    """One worktree of a project."""

    worktree: str
    git_dir: str
    common_dir: str


def place_of(*starts: str) -> Place | None:
    """Return the project that the first of these folders lies in that lies in one; None where there is none."""
    for start in starts:
        if os.path.isabs(start) and "\0" not in start:
            found = _above(os.path.normpath(start))
            if found is not None:
                return found
    return None


def _above(folder: str) -> Place | None:
    while True:
        git_dir = _git_dir(folder)
        if git_dir is not None:
            common = _common_dir(git_dir)
            # Written with the first state, taken away by `git nexus uninstall`: without it this is no project.
            marked = os.path.exists(os.path.join(common, "nexus", "lock"))
            return Place(folder, git_dir, common) if marked else None
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _git_dir(folder: str) -> str | None:
    path = os.path.join(folder, ".git")
    if os.path.isdir(path):
        return path
    said = _line(path)
    if said is None or not said.startswith("gitdir: "):
        return None
    return os.path.normpath(os.path.join(folder, said.removeprefix("gitdir: ")))


def _common_dir(git_dir: str) -> str:
    said = _line(os.path.join(git_dir, "commondir"))
    return git_dir if said is None else os.path.normpath(os.path.join(git_dir, said))


def _line(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_LONGEST)).rstrip("\n")
    except OSError:
        return None
