"""Finds the project that contains a folder, for hooks: reads a few files, starts no git and trusts no content."""

import contextlib
import os
from typing import NamedTuple

from gitnexus.git.git_folders import read_git_folders

STATE_REF = "refs/nexus/state"
# Below the common git folder: written with the first state, and by `git nexus uninstall` in its place.
LOCK, UNINSTALLED = os.path.join("nexus", "lock"), os.path.join("nexus", "uninstalled")


class ProjectLocation(NamedTuple):
    """A worktree of a project: its top, its git folders, and the run that it belongs to."""

    top: str
    git_dir: str
    common: str
    run: str = ""


def locate_first_project(*folders: str) -> ProjectLocation | None:
    """Return the project of the first of these folders that is in one, None if none is; only full paths count."""
    usable = (folder for folder in folders if os.path.isabs(folder) and "\0" not in folder)
    return next((location for folder in usable if (location := locate_project(folder))), None)


def locate_project(folder: str) -> ProjectLocation | None:
    """Return the project that contains a folder, None if there is none."""
    top = os.path.realpath(folder)
    while True:
        location = _project_at(top) if os.path.lexists(os.path.join(top, ".git")) else None
        above = os.path.dirname(top)
        # A repository inside a project that is not a project itself belongs to the outer one; otherwise `git init`
        # would be a way out.
        if location is not None or above == top:
            return location
        top = above


def _project_at(top: str) -> ProjectLocation | None:
    """Return the project whose worktree starts at `top`, None for a repository that is not a project."""
    git_dir, common = read_git_folders(top)
    if not _is_project(common):
        return None
    run = os.path.basename(git_dir) if os.path.exists(os.path.join(git_dir, "nexus", "run")) else ""
    return ProjectLocation(top, git_dir, common, run)


def _is_project(common: str) -> bool:
    """True if the repository has state: its lock file, or its ref, loose or packed, and nobody uninstalled it."""
    if os.path.exists(os.path.join(common, LOCK)):
        return True
    if os.path.exists(os.path.join(common, UNINSTALLED)):
        return False
    if os.path.exists(os.path.join(common, STATE_REF)):
        return True
    with contextlib.suppress(OSError), open(os.path.join(common, "packed-refs"), "rb") as file:
        return STATE_REF.encode() + b"\n" in file.read()
    return False
