"""Passes the current project and the registry of all projects to a command."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import print_note, start_folder

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint

P = ParamSpec("P")
R = TypeVar("R")


def with_standpoint(command: "Callable[Concatenate[Standpoint, P], R]") -> Callable[..., R]:
    """Pass the standpoint to a command, with hand edits committed, and add the option --project."""

    def opened(*args: Any, in_project: str | None, **kwargs: Any) -> R:
        with opened_standpoint(in_project) as standpoint:
            return command(standpoint, *args, **kwargs)

    return with_project_option(update_wrapper(opened, command))


def with_project_option(command: Callable[..., R]) -> Callable[..., R]:
    """Add the option --project to a command; NEXUS_PROJECT has the same effect."""
    words = "Use this project instead of the one that contains the current folder."
    return click.option("--project", "in_project", metavar="NAME|DIR", help=words)(command)


def named_project(option: str | None) -> str | None:
    """Return the name of the current project, if it was given; then GIT_DIR is ignored."""
    word = option or os.environ.get("NEXUS_PROJECT")
    if word:
        from gitnexus.git.discovery import clear_inherited_git_dir

        clear_inherited_git_dir()
    return word


@contextmanager
def opened_standpoint(option: str | None = None) -> "Iterator[Standpoint]":
    """Open the standpoint of the project that --project or NEXUS_PROJECT names, or that contains the folder."""
    from gitnexus.projects.open_registry import open_standpoint, take_in_edits

    start = start_folder(current_invocation(click.get_current_context()))
    standpoint = open_standpoint(start, named_project(option))
    try:
        for line in take_in_edits(standpoint):
            print_note(line)
        yield standpoint
    finally:
        standpoint.close()
