"""Resolves the CLEO file of `git nexus task import` and `export`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitnexus.backlog import cleo
from gitnexus.base.errors import BadUsage, Failed
from gitnexus.base.files import expand_home
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import start_folder

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


def cleo_file_path(opened: "OpenBacklog", path: str | None) -> Path:
    """Return the path of the file: links on the way to it are allowed, the file itself must not be one."""
    if opened.nexus is None:
        opened.backlog.tasks()  # outside any project there are none, and that is the better answer
        raise Failed(
            "this folder is kept by CLEO and only read here", hint="git nexus init makes it a project of its own"
        )
    if path is None:
        if opened.nexus.repo.worktree is None:
            raise BadUsage("a bare repository has no .cleo folder: name a file")
        return opened.nexus.repo.worktree / cleo.FOLDER / cleo.TODO
    given = start_folder(current_invocation(click.get_current_context())) / expand_home(path)
    if given.is_dir():
        given = given / cleo.FOLDER / cleo.TODO if (given / cleo.FOLDER).is_dir() else given / cleo.TODO
    return given.parent.resolve() / given.name
