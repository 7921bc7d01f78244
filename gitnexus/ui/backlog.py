"""Give a command the backlog of the project that it is called in."""

from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.ui.commands import invocation
from gitnexus.ui.output import note, start_folder
from gitnexus.ui.standpoint import in_a_project, said_project

if TYPE_CHECKING:
    from gitnexus.app.backlog import OpenBacklog

P = ParamSpec("P")
R = TypeVar("R")


def with_backlog(command: "Callable[Concatenate[OpenBacklog, P], R]") -> Callable[..., R]:
    """Open the backlog for a command, hand edits taken in, and give it the option --project."""

    def opened(*args: Any, in_project: str | None, **kwargs: Any) -> R:
        from gitnexus.app.backlog import open_backlog
        from gitnexus.base.errors import NotFound

        place, word = start_folder(invocation(click.get_current_context())), said_project(in_project)
        if word:
            from gitnexus.app.standpoint import chosen  # only who names a project pays for the registry

            place = Path(chosen(place, word).path)
        try:
            found = open_backlog(place)
        except NotFound as exc:
            if not place.is_dir():
                raise
            from gitnexus.app.backlog import open_outside

            found = open_outside(place, exc)
        try:
            for line in found.nexus.notices if found.nexus else ():
                note(line)
            return command(found, *args, **kwargs)
        finally:
            found.close()

    return in_a_project(update_wrapper(opened, command))
