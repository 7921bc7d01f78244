"""Formats names, health and permissions for the commands of `git nexus project`."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.ui.output import print_answer

if TYPE_CHECKING:
    from gitnexus.projects.model import Project
    from gitnexus.projects.overview import ProjectOverview

_HEALTH_COLOURS = {"ok": "green", "missing": "red", "not a project": "red", "unreadable": "yellow"}


def print_names(row: "Project") -> None:
    """Print the names of a project after a change."""
    also = f", also {', '.join(row.aliases)}" if row.aliases else ""
    print_answer({"project": row.plain()}, f"{one_line(row.path)} is {row.name}{also}.", row.described)


def format_health(one: "ProjectOverview") -> str:
    """Return the health of a project in its colour."""
    return click.style(one.health, fg=_HEALTH_COLOURS[one.health])


def format_permission(one: "ProjectOverview") -> str:
    """Return the permission of the current project on another."""
    return "this one" if one.current else one.permission.value
