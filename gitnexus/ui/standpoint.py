"""Give a command the current project among all others."""

import os
from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.ui.commands import invocation
from gitnexus.ui.output import start_folder

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint

P = ParamSpec("P")
R = TypeVar("R")


def with_standpoint(command: "Callable[Concatenate[Standpoint, P], R]") -> Callable[..., R]:
    """Open the standpoint for a command and give it the option --project; NEXUS_PROJECT says the same."""

    def opened(*args: Any, in_project: str | None, **kwargs: Any) -> R:
        from gitnexus.app.standpoint import open_standpoint

        start = start_folder(invocation(click.get_current_context()))
        standpoint = open_standpoint(start, in_project or os.environ.get("NEXUS_PROJECT"))
        try:
            return command(standpoint, *args, **kwargs)
        finally:
            standpoint.close()

    option = click.option("--project", "in_project", metavar="NAME|DIR",
                          help="The current project, instead of the one that this folder lies in.")  # fmt: skip
    return option(update_wrapper(opened, command))
