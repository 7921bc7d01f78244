"""Give a command the backlog of the project that it is called in."""

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.ui.commands import invocation
from gitnexus.ui.output import note, start_folder

if TYPE_CHECKING:
    from gitnexus.app.backlog import OpenBacklog

P = ParamSpec("P")
R = TypeVar("R")


def with_backlog(command: "Callable[Concatenate[OpenBacklog, P], R]") -> Callable[P, R]:
    """Open the backlog for a command, hand edits taken in."""

    def opened(*args: P.args, **kwargs: P.kwargs) -> R:
        from gitnexus.app.backlog import open_backlog

        found = open_backlog(start_folder(invocation(click.get_current_context())))
        try:
            for line in found.nexus.notices if found.nexus else ():
                note(line)
            return command(found, *args, **kwargs)
        finally:
            found.close()

    return update_wrapper(opened, command)
