"""`git nexus project`: the registry, for people."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, note, start_folder
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.model import Project
    from gitnexus.projects.overview import ProjectView
    from gitnexus.projects.standpoint import Standpoint

_COLOURS = {"ok": "green", "missing": "red", "not a project": "red", "unreadable": "yellow"}


@click.group("project", cls=NexusGroup)
def project() -> None:
    """The projects you have: list, show, rename, move, forget.

    NAME is a project's name, an alias, 4 to 12 digits of its hash, or . for the current one.
    """


@project.command("list")
@with_standpoint
def list_projects(standpoint: "Standpoint") -> None:
    """List every project, how it is, and what the current one may do to it."""
    from gitnexus.projects.overview import listed

    found = listed(standpoint)
    broken = standpoint.broken_permissions()
    if broken:
        note(f"every access to another project is denied: {broken}")
    rows = [[_mark(one), one.name, _health(one), _permission(one), one_line(one.path)] for one in found]
    answer(
        {"projects": [one.plain() for one in found]},
        columns(rows, indent="") if rows else "No projects yet.\nNext: git nexus init, or git nexus register PATH",
        standpoint.described,
    )


@project.command("show")
@click.argument("name")
@with_standpoint
def show(standpoint: "Standpoint", name: str) -> None:
    """Show one project; needs read permission on it."""
    from gitnexus.projects.overview import shown

    found = shown(standpoint, name)
    rows = [
        ["name", found.name + ("" if found.registered else " (not registered)")],
        ["aliases", ", ".join(found.aliases) or "none"],
        ["path", one_line(found.path)],
        ["hash", found.hash],
        ["health", _health(found)],
        ["permission", _permission(found)],
        ["last used", found.last_access or "not known"],
    ]
    described = {"name": found.name, "hash": found.hash, "path": found.path}
    answer({"project": found.plain()}, columns(rows, indent=""), lambda: described)


@project.command("unregister")
@click.argument("name")
@with_standpoint
def unregister(standpoint: "Standpoint", name: str) -> None:
    """Forget a project and every permission that names it; its files stay as they are."""
    from gitnexus.projects.register import unregister as forget

    row = standpoint.find_registered(name)
    forget(standpoint.home, row.path, standpoint.clock())
    answer(
        {"project": row.plain()},
        f"Unregistered {row.name}; {one_line(row.path)} is as it was.",
        row.described,
    )


@project.command("rename")
@click.argument("name")
@click.argument("new")
@with_standpoint
def rename(standpoint: "Standpoint", name: str, new: str) -> None:
    """Give a project another name; the old one stays as an alias."""
    from gitnexus.projects.names import rename as give

    row = give(standpoint.home, standpoint.find_registered(name), new, standpoint.clock())
    _tell(row)


@project.command("alias")
@click.argument("name")
@click.argument("aliases", nargs=-1, required=True, metavar="ALIAS…")
@click.option("--remove", is_flag=True, help="Take the aliases away instead.")
@with_standpoint
def alias(standpoint: "Standpoint", name: str, aliases: tuple[str, ...], remove: bool) -> None:
    """Give a project more names, or take some away."""
    from gitnexus.projects.names import add_aliases, remove_aliases

    change = remove_aliases if remove else add_aliases
    row = change(standpoint.home, standpoint.find_registered(name), aliases, standpoint.clock())
    _tell(row)


@project.command("move")
@click.argument("name")
@click.argument("path")
@with_standpoint
def move(standpoint: "Standpoint", name: str, path: str) -> None:
    """Tell where a project lies now; names and permissions stay."""
    from gitnexus.projects.move import move as carry
    from gitnexus.projects.register import project_to_register

    start = start_folder(invocation(click.get_current_context()))
    place = project_to_register(start / expand_home(path))
    done = carry(standpoint.home, standpoint.find_registered(name), place, standpoint.clock())
    answer(
        {"project": done.project.plain(), "movedFrom": done.moved.path if done.moved else None},
        f"{done.project.name} is at {one_line(done.project.path)} now.",
        done.project.described,
    )


def _tell(row: "Project") -> None:
    also = f", also {', '.join(row.aliases)}" if row.aliases else ""
    answer({"project": row.plain()}, f"{one_line(row.path)} is {row.name}{also}.", row.described)


def _mark(one: "ProjectView") -> str:
    return "*" if one.current else " "


def _health(one: "ProjectView") -> str:
    return click.style(one.health, fg=_COLOURS[one.health])


def _permission(one: "ProjectView") -> str:
    return "this one" if one.current else one.permission.value
