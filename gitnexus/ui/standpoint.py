"""Give a command the current project among all others."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.ui.commands import invocation
from gitnexus.ui.output import note, start_folder

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint

P = ParamSpec("P")
R = TypeVar("R")


def with_standpoint(command: "Callable[Concatenate[Standpoint, P], R]") -> Callable[..., R]:
    """Open the standpoint for a command, hand edits taken in, and give it the option --project."""

    def opened(*args: Any, in_project: str | None, **kwargs: Any) -> R:
        with standing(in_project) as standpoint:
            return command(standpoint, *args, **kwargs)

    return in_a_project(update_wrapper(opened, command))


def in_a_project(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the option --project; NEXUS_PROJECT says the same."""
    words = "The current project, instead of the one that this folder lies in."
    return click.option("--project", "in_project", metavar="NAME|DIR", help=words)(command)


def said_project(option: str | None) -> str | None:
    """Return what names the current project, if anything does; then GIT_DIR does not."""
    word = option or os.environ.get("NEXUS_PROJECT")
    if word:
        from gitnexus.git.discovery import disinherit

        disinherit()
    return word


@contextmanager
def standing(option: str | None = None) -> "Iterator[Standpoint]":
    """Stand in the project that --project or NEXUS_PROJECT names, or that the folder lies in."""
    from gitnexus.app.standpoint import open_standpoint, taken_in

    start = start_folder(invocation(click.get_current_context()))
    standpoint = open_standpoint(start, said_project(option))
    try:
        for line in taken_in(standpoint):
            note(line)
        yield standpoint
    finally:
        standpoint.close()
