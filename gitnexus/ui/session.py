"""Give a command the session of the worktree it is called in."""

import os
from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.ui.commands import invocation
from gitnexus.ui.output import start_folder

if TYPE_CHECKING:
    from gitnexus.app.session import OpenSession

P = ParamSpec("P")
R = TypeVar("R")


def with_session(command: "Callable[Concatenate[OpenSession, P], R]") -> Callable[P, R]:
    """Open the session for a command; the repository need not be initialised."""

    def opened(*args: P.args, **kwargs: P.kwargs) -> R:
        from gitnexus.app.session import open_session

        place = start_folder(invocation(click.get_current_context()))
        session = open_session(place, os.environ.get("NEXUS_HARNESS"))
        try:
            return command(session, *args, **kwargs)
        finally:
            session.state.close()

    return update_wrapper(opened, command)
