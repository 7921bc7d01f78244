"""`git nexus agenda show`: show the agenda and the state of its phases, or one part of a document."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import make_visible, one_line
from gitnexus.cli.agenda.options import AT_OPTION
from gitnexus.cli.agenda.output import STATUS_COLOURS, phase_as_json
from gitnexus.docgraph import DocGraph, slice_from_reference
from gitnexus.runs.agenda import load_doc_graph
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import format_columns, print_answer, print_note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("show", cls=NexusCommand)
@click.argument("ref", metavar="[PHASE|ID]", required=False)
@AT_OPTION
@with_nexus
def show_agenda(nexus: "Nexus", ref: str | None, at: str) -> None:
    """Show the agenda and the state of its phases, or one part of a document.

    A part is named by a path, an id or a phase, and after # a heading, an id or lines: AGENDA.md#GLOBAL_CONSTRAINTS,
    core_loop#GOAL, phase.core_loop#write, docs/architecture.md#L10-L20.
    """
    graph = load_doc_graph(nexus.state, at)
    if ref is None:
        print_answer(lambda: _overview_as_json(graph), lambda: _format_overview(graph), nexus.described)
        return
    found = slice_from_reference(graph, ref)
    if not current_invocation(click.get_current_context()).as_json:
        print_note(f"{found.path}:{found.first_line}-{found.last_line}")
    print_answer({"slice": found.plain()}, make_visible(found.text).rstrip("\n"), nexus.described)


def _overview_as_json(graph: "DocGraph") -> dict[str, Any]:
    agenda = graph.agenda
    paths = [one.path for one in graph.papers] + [one.path for one in graph.notes]
    return {
        "agenda": {
            "path": agenda.path,
            "title": agenda.title,
            "lines": len(agenda.lines),
            "blob": agenda.blob,
            "sections": [one.name for one in agenda.sections],
        }
        if agenda
        else None,
        "active": graph.active[0].id if graph.active else None,
        "phases": [phase_as_json(one) for one in graph.phases],
        "plans": sorted(path for path in paths if "/plans/" in path),
        "research": sorted(path for path in paths if "/research/" in path),
    }


def _format_overview(graph: "DocGraph") -> str:
    agenda = graph.agenda
    if agenda is None and not graph.phases:
        return "There is no AGENDA.md.\nNext: git nexus agenda init"
    head = f"{one_line(agenda.title, 100)}  ({agenda.path}, {len(agenda.lines)} lines)" if agenda else "No AGENDA.md."
    rows = []
    for doc in graph.phases:
        done = sum(bool(one.done) for one in doc.steps)
        mark = "→" if doc.status == "active" else " "
        status = click.style(doc.status or "?", fg=STATUS_COLOURS.get(doc.status))
        rows.append(
            [mark, one_line(doc.id or doc.path, 60), status, f"{done}/{len(doc.steps)}", one_line(doc.title, 80)]
        )
    lines = [head, *([format_columns(rows, indent="")] if rows else [])]
    for doc in graph.active[:1]:
        waits = [one for one in doc.steps if not one.done]
        lines += [f"Open in {doc.id or doc.path}:"] if waits else []
        lines += [f"  {doc.path}:{one.first}  {one_line(one.text, 90)}" for one in waits[:12]]
    return "\n".join(lines)
