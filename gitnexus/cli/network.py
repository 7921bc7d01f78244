"""`git nexus deps`, `dependents`, `blocking`, `critical-path`, `orphans` and `index`: the graph of all projects."""

import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, columns, counted
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.network import Network
    from gitnexus.projects.resolve import Located
    from gitnexus.projects.standpoint import Standpoint


@click.command("deps", cls=NexusCommand)
@click.argument("ref")
@with_standpoint
def deps(standpoint: "Standpoint", ref: str) -> None:
    """Show what a task waits for, in whatever project that is."""
    from gitnexus.app.network import with_network
    from gitnexus.projects.network import blocked

    at = located(standpoint, ref, "deps")

    def look(network: "Network") -> dict[str, Any]:
        row = network.row(at)
        found = network.dependencies(row)
        why = blocked(row, found)
        return {"taskId": row.key, "ref": at.ref, "project": at.project.name, "dependencies": found,
                "blocked": bool(why) or row.status == "blocked", "blockedBy": why}  # fmt: skip

    told = with_network(standpoint, look, progress())
    tail = one_line(f"Blocked by {', '.join(told['blockedBy'])}", 400) if told["blockedBy"] else ""
    text = _rows(told["dependencies"]) or f"{at.ref} waits for nothing."
    answer(told, "\n".join(filter(None, [text, tail])), at.project.described)


@click.command("dependents", cls=NexusCommand)
@click.argument("ref")
@with_standpoint
def dependents(standpoint: "Standpoint", ref: str) -> None:
    """Show the tasks that wait for one, in all projects that may be read."""
    from gitnexus.app.network import with_network

    at = located(standpoint, ref, "dependents")
    found = with_network(standpoint, lambda network: network.dependents(network.row(at)), progress())
    told = {"taskId": at.task_id, "ref": at.ref, "project": at.project.name, "dependents": found}
    answer(told, _rows(found) or f"Nothing waits for {at.ref}.", at.project.described)


@click.command("blocking", cls=NexusCommand)
@click.argument("ref")
@with_standpoint
def blocking(standpoint: "Standpoint", ref: str) -> None:
    """Show all that a task holds up, directly or through others."""
    from gitnexus.app.network import with_network

    at = located(standpoint, ref, "dependents")
    found = with_network(standpoint, lambda network: network.blocking(network.row(at)), progress())
    told = {"taskId": at.task_id, "ref": at.ref, "impact": len(found), "tasks": found}
    head = f"{at.ref} holds up {counted(len(found), 'open task')}"
    answer(told, f"{head}\n{_rows(found)}" if found else f"{at.ref} holds up nothing.", at.project.described)


@click.command("critical-path", cls=NexusCommand)
@click.argument("ref", required=False)
@with_standpoint
def critical_path(standpoint: "Standpoint", ref: str | None) -> None:
    """Show the longest chain of open tasks, of all or up to REF; a circle is refused and named."""
    from gitnexus.app.network import with_network

    at = located(standpoint, ref, "deps") if ref else None
    path = with_network(standpoint, lambda network: network.critical_path(network.row(at) if at else None), progress())
    text = (
        f"{counted(len(path), 'task')}, each waiting for the one before\n{_rows(path)}" if path else "Nothing is open."
    )
    answer({"length": len(path), "path": path}, text, at.project.described if at else standpoint.described)


@click.command("orphans", cls=NexusCommand)
@with_standpoint
def orphans(standpoint: "Standpoint") -> None:
    """Show dependencies that lead nowhere."""
    from gitnexus.app.network import with_network

    found = with_network(standpoint, lambda network: network.orphans, progress())
    rows = [[one["from"], "→", one_line(one["to"], 60), one_line(one["reason"], 80)] for one in found]
    answer({"orphans": found, "total": len(found)}, columns(rows, indent="") or "Every dependency leads somewhere.",
           standpoint.described)  # fmt: skip


@click.command("index", cls=NexusCommand)
@click.option("--rebuild", is_flag=True, help="From nothing, not only what changed.")
@with_standpoint
def index(standpoint: "Standpoint", rebuild: bool) -> None:
    """Bring the index of all projects up to date; every command that needs it does so by itself."""
    from gitnexus.app.network import reindexed

    told = reindexed(standpoint, progress(), whole=rebuild)
    named: Any = told["rebuilt"]
    text = (
        f"{counted(int(str(told['projects'])), 'project')}, {counted(int(str(told['tasks'])), 'task')}, "
        f"{told['edges']} dependencies; {len(named) or 'none'} read anew"
    )
    answer(told, text, standpoint.described)


def located(standpoint: "Standpoint", text: str, operation: str) -> "Located":
    """Return a task of one project that may be read. Raises: BadReference, Invalid, PermissionDenied, …"""
    from gitnexus.base.errors import Invalid
    from gitnexus.projects.operations import Operation
    from gitnexus.projects.reference import parsed

    reference = parsed(text)
    if reference.is_everywhere:
        raise Invalid(f"{text} means the tasks of every project, one is wanted here", hint="name the project")
    at = standpoint.locate(reference)
    standpoint.require(Operation(operation), at.project, at.task)
    return at


def _rows(found: list[dict[str, Any]]) -> str:
    return columns([[one["ref"], one["status"] or "?", one_line(one["title"] or one.get("reason") or "", 80)]
                    for one in found], indent="")  # fmt: skip


def progress() -> Any:
    """Return what shows how far it is, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(at: int, total: int, name: str) -> None:
        if total > 3:
            end = "\n" if at == total else ""
            click.echo(f"\rindexing {at} of {total}: {one_line(name, 40)}\x1b[K{end}", err=True, nl=False)

    return show
