"""`git nexus agenda phase show`: show the state of a phase: its steps, and what it links."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.cli.agenda.output import STATUS_COLOURS, phase_as_json
from gitnexus.runs.agenda import load_doc_graph
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.docgraph.model import Doc

_BOX = {True: "[x]", False: "[ ]"}


@click.command("show", cls=NexusCommand)
@click.argument("name", metavar="PHASE")
@with_nexus
def show_phase(nexus: "Nexus", name: str) -> None:
    """Show the state of a phase: its steps, and what it links."""
    doc = load_doc_graph(nexus.state).phase(name)
    steps = [{"id": one.id, "text": one.text, "done": one.done, "line": one.first} for one in doc.steps]
    links = [{"kind": one.kind, "target": one.target, "line": one.line} for one in doc.links]
    payload = {"phase": {**phase_as_json(doc), "stepRows": steps, "links": links, "sections": _sections_as_json(doc)}}
    print_answer(payload, lambda: _format_phase(doc), nexus.described)


def _sections_as_json(doc: "Doc") -> list[dict[str, Any]]:
    return [{"name": one.name, "id": one.id, "firstLine": one.first, "lastLine": one.last} for one in doc.sections]


def _format_phase(doc: "Doc") -> str:
    status = click.style(doc.status or "no status", fg=STATUS_COLOURS.get(doc.status))
    lines = [f"{one_line(doc.id or doc.path, 80)}  {status}  {one_line(doc.title, 100)}", f"  {doc.path}"]
    rows = [[f"L{one.first}", _BOX[bool(one.done)], one_line(one.text, 90), one.id] for one in doc.steps]
    lines += [format_columns(rows)] if rows else []
    named = [one for one in doc.links if one.kind]
    lines += [format_columns([[one.kind, one_line(one.target, 100)] for one in named])] if named else []
    if not doc.sound:
        found = doc.findings[0]
        lines.append(f"  {doc.path}:{found.line}: {one_line(found.message, 200)}")
    return "\n".join(lines)
