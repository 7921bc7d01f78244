"""Passes the backlog of the current project to a command."""

from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.base.errors import NotFound
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import print_note, start_folder
from gitnexus.ui.standpoint import named_project, with_project_option

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog

P = ParamSpec("P")
R = TypeVar("R")


def with_backlog(command: "Callable[Concatenate[OpenBacklog, P], R]") -> Callable[..., R]:
    """Pass the backlog to a command, with hand edits committed, and add the option --project."""

    def opened(*args: Any, in_project: str | None, **kwargs: Any) -> R:
        from gitnexus.projects.open_backlog import open_backlog

        folder, word = start_folder(current_invocation(click.get_current_context())), named_project(in_project)
        if word:
            from gitnexus.projects.open_registry import choose_project  # only who names a project pays for the registry

            folder = Path(choose_project(folder, word).path)
        try:
            found = open_backlog(folder)
        except NotFound as exc:
            if not folder.is_dir():
                raise
            from gitnexus.projects.open_backlog import open_outside

            found = open_outside(folder, exc)
        try:
            for line in found.nexus.notices if found.nexus else ():
                print_note(line)
            return command(found, *args, **kwargs)
        finally:
            found.close()

    return with_project_option(update_wrapper(opened, command))
