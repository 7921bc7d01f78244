"""`git nexus agenda phase`: the phases, and which of them is being worked on."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusGroup
from gitnexus.ui.output import answer, columns, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.docgraph.model import Doc

STATUS_COLOURS = {"active": "green", "blocked": "yellow", "dropped": "bright_black"}
_BOX = {True: "[x]", False: "[ ]"}


@click.group("phase", cls=NexusGroup)
def phase() -> None:
    """The phases of the agenda, a file each in docs/phases/. One is active at a time."""


@phase.command("list")
@with_nexus
def list_command(nexus: "Nexus") -> None:
    """List the phases, in the order of the agenda."""
    from gitnexus.app.agenda import graph_of

    phases = graph_of(nexus.state).phases
    rows = [
        [one_line(doc.id or doc.path, 60), click.style(doc.status or "?", fg=STATUS_COLOURS.get(doc.status)),
         f"{sum(bool(one.done) for one in doc.steps)}/{len(doc.steps)}", one_line(doc.title, 80)]
        for doc in phases
    ]  # fmt: skip
    none = "No phases yet.\nNext: git nexus agenda phase add NAME"
    answer({"phases": [phase_row(doc) for doc in phases]}, columns(rows, indent="") or none, nexus.described)


@phase.command("show")
@click.argument("name", metavar="PHASE")
@with_nexus
def show(nexus: "Nexus", name: str) -> None:
    """Show where a phase stands: its steps, and what it links."""
    from gitnexus.app.agenda import graph_of

    doc = graph_of(nexus.state).phase(name)
    steps = [{"id": one.id, "text": one.text, "done": one.done, "line": one.first} for one in doc.steps]
    links = [{"kind": one.kind, "target": one.target, "line": one.line} for one in doc.links]
    payload = {"phase": {**phase_row(doc), "stepRows": steps, "links": links, "sections": _sections(doc)}}
    answer(payload, lambda: _words(doc), nexus.described)


@phase.command("add")
@click.argument("name")
@click.option("--title", metavar="TEXT", default="", help="Its heading; the name in words if not said.")
@with_nexus
def add(nexus: "Nexus", name: str, title: str) -> None:
    """Plan a phase: docs/phases/NAME.md with empty sections, and a row in AGENDA.md."""
    from gitnexus.app.agenda import graph_of, written
    from gitnexus.docgraph.phases import added

    graph = graph_of(nexus.state)
    paths = written(graph, added(graph, name, title))
    answer({"changed": paths}, f"{told(paths)}\nNext: write its GOAL and DELIVERABLES", nexus.described)


@phase.command("start")
@click.argument("name", metavar="PHASE")
@click.option("--switch", is_flag=True, help="Put the phase that is active back to planned.")
@with_nexus
def start(nexus: "Nexus", name: str, switch: bool) -> None:
    """Make a phase the active one. It must not wait for another."""
    from gitnexus.app.agenda import graph_of, written
    from gitnexus.docgraph.phases import started

    graph = graph_of(nexus.state)
    paths = written(graph, started(graph, graph.phase(name), switch=switch))
    answer({"changed": paths}, told(paths), nexus.described)


@phase.command("done")
@click.argument("name", metavar="PHASE")
@click.option("--force", is_flag=True, help="Also with open steps.")
@with_nexus
def done(nexus: "Nexus", name: str, force: bool) -> None:
    """Finish a phase whose steps are ticked, and tick it in AGENDA.md."""
    from gitnexus.app.agenda import graph_of, written
    from gitnexus.docgraph.phases import finished

    graph = graph_of(nexus.state)
    paths = written(graph, finished(graph, graph.phase(name), force=force))
    answer({"changed": paths}, told(paths), nexus.described)


def phase_row(doc: "Doc") -> dict[str, Any]:
    """Return a phase for JSON."""
    return {"id": doc.id, "status": doc.status, "title": doc.title, "path": doc.path, "blob": doc.blob,
            "steps": len(doc.steps), "stepsDone": sum(bool(one.done) for one in doc.steps)}  # fmt: skip


def told(paths: list[str]) -> str:
    """Return which files were written; committing them is the person's."""
    return "\n".join(f"Wrote {path}." for path in paths) if paths else "It is so already."


def _sections(doc: "Doc") -> list[dict[str, Any]]:
    return [{"name": one.name, "id": one.id, "firstLine": one.first, "lastLine": one.last} for one in doc.sections]


def _words(doc: "Doc") -> str:
    status = click.style(doc.status or "no status", fg=STATUS_COLOURS.get(doc.status))
    lines = [f"{one_line(doc.id or doc.path, 80)}  {status}  {one_line(doc.title, 100)}", f"  {doc.path}"]
    rows = [[f"L{one.first}", _BOX[bool(one.done)], one_line(one.text, 90), one.id] for one in doc.steps]
    lines += [columns(rows)] if rows else []
    named = [one for one in doc.links if one.kind]
    lines += [columns([[one.kind, one_line(one.target, 100)] for one in named])] if named else []
    if not doc.sound:
        found = doc.findings[0]
        lines.append(f"  {doc.path}:{found.line}: {one_line(found.message, 200)}")
    return "\n".join(lines)
