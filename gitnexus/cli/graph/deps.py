"""`git nexus deps`, `dependents`, `blocking`, `critical-path`, `orphans` and `index`: the graph of all projects."""

import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, columns, counted
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("deps", cls=NexusCommand)
@click.argument("ref")
@with_standpoint
def deps(standpoint: "Standpoint", ref: str) -> None:
    """Show what a task waits for, in whatever project that is."""
    from gitnexus.app.answers import dependencies, located
    from gitnexus.projects.operations import Operation

    at = located(standpoint, ref, Operation.DEPS)
    told = dependencies(standpoint, at, progress())
    tail = one_line(f"Blocked by {', '.join(told['blockedBy'])}", 400) if told["blockedBy"] else ""
    text = _rows(told["dependencies"]) or f"{at.ref} waits for nothing."
    answer(told, "\n".join(filter(None, [text, tail])), at.project.described)


@click.command("dependents", cls=NexusCommand)
@click.argument("ref")
@with_standpoint
def dependents(standpoint: "Standpoint", ref: str) -> None:
    """Show the tasks that wait for one, in all projects that may be read."""
    from gitnexus.app import answers
    from gitnexus.projects.operations import Operation

    at = answers.located(standpoint, ref, Operation.DEPENDENTS)
    told = answers.dependents(standpoint, at, progress())
    answer(told, _rows(told["dependents"]) or f"Nothing waits for {at.ref}.", at.project.described)


@click.command("blocking", cls=NexusCommand)
@click.argument("ref")
@with_standpoint
def blocking(standpoint: "Standpoint", ref: str) -> None:
    """Show all that a task holds up, directly or through others."""
    from gitnexus.app import answers
    from gitnexus.projects.operations import Operation

    at = answers.located(standpoint, ref, Operation.DEPENDENTS)
    told = answers.blocking(standpoint, at, progress())
    head = f"{at.ref} holds up {counted(told['impact'], 'open task')}"
    text = f"{head}\n{_rows(told['tasks'])}" if told["tasks"] else f"{at.ref} holds up nothing."
    answer(told, text, at.project.described)


@click.command("critical-path", cls=NexusCommand)
@click.argument("ref", required=False)
@with_standpoint
def critical_path(standpoint: "Standpoint", ref: str | None) -> None:
    """Show the longest chain of open tasks, of all or up to REF; a circle is refused and named."""
    from gitnexus.app import answers
    from gitnexus.projects.operations import Operation

    at = answers.located(standpoint, ref, Operation.DEPS) if ref else None
    told = answers.critical_path(standpoint, at, progress())
    head = f"{counted(told['length'], 'task')}, each waiting for the one before"
    text = f"{head}\n{_rows(told['path'])}" if told["path"] else "Nothing is open."
    answer(told, text, at.project.described if at else standpoint.described)


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
