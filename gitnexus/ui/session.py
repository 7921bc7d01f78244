"""Passes the session of the current worktree to a command."""

import os
from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.projects.open_session import open_session
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import start_folder

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession

P = ParamSpec("P")
R = TypeVar("R")


def with_session(command: "Callable[Concatenate[OpenSession, P], R]") -> Callable[P, R]:
    """Pass the session to a command; the repository need not be initialised."""

    def opened(*args: P.args, **kwargs: P.kwargs) -> R:
        folder = start_folder(current_invocation(click.get_current_context()))
        session = open_session(folder, os.environ.get("NEXUS_HARNESS"))
        try:
            return command(session, *args, **kwargs)
        finally:
            session.state.close()

    return update_wrapper(opened, command)
