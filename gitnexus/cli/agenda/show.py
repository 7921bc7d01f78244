"""`git nexus agenda`: the doc graph for people. Phases have a file of their own beside this one."""

import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible
from gitnexus.cli.phase import STATUS_COLOURS, phase, phase_row, told
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, counted, note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.docgraph import Graph

_AT = click.option("--at", metavar="REV", default="", help="The documents of this commit, not of the checkout.")


@click.group("agenda", cls=NexusGroup)
def agenda() -> None:
    """What the project is about: AGENDA.md, its phases in docs/phases/, their plans, research and runs."""


@agenda.command("init")
@click.option("--title", metavar="TEXT", default="", help="Its heading; the project's name if not said.")
@with_nexus
def init(nexus: "Nexus", title: str) -> None:
    """Write a first AGENDA.md, with the phases that are there."""
    from gitnexus.app.agenda import graph_of, written
    from gitnexus.docgraph.phases import begun

    graph = graph_of(nexus.state)
    paths = written(graph, begun(graph, title or nexus.described()["name"]))
    answer({"changed": paths}, f"{told(paths)}\nNext: git nexus agenda phase add NAME", nexus.described)


@agenda.command("show")
@click.argument("ref", metavar="[PHASE|ID]", required=False)
@_AT
@with_nexus
def show(nexus: "Nexus", ref: str | None, at: str) -> None:
    """Show the agenda and where its phases stand, or one part of a document.

    A part is named by a path, an id or a phase, and after # a heading, an id or lines: AGENDA.md#GLOBAL_CONSTRAINTS,
    core_loop#GOAL, phase.core_loop#write, docs/architecture.md#L10-L20.
    """
    from gitnexus.app.agenda import graph_of
    from gitnexus.docgraph import slice_of

    graph = graph_of(nexus.state, at)
    if ref is None:
        answer(lambda: _overview(graph), lambda: _words(graph), nexus.described)
        return
    found = slice_of(graph, ref)
    if not invocation(click.get_current_context()).as_json:
        note(f"{found.path}:{found.first_line}-{found.last_line}")
    answer({"slice": found.plain()}, visible(found.text).rstrip("\n"), nexus.described)


@agenda.command("check")
@_AT
@with_nexus
def check(nexus: "Nexus", at: str) -> None:
    """Tell all that does not hold together, each by its file and line.

    Links that lead nowhere, unknown and doubled ids, an agenda that is no index any more, several active phases and
    more. Leaves with status 6 if there is a problem; hints are only told.
    """
    from gitnexus.app.agenda import graph_of
    from gitnexus.docgraph.check import findings

    graph = graph_of(nexus.state, at)
    found = findings(graph)
    problems = [one for one in found if one.weight == "problem"]
    lines = [
        f"{one_line(one.path, 200)}:{one.line}: {_weight(one.weight)}{one_line(one.message, 300)} [{one.code}]"
        for one in found
    ]
    counts = (
        f"{counted(len(graph.phases), 'phase')}, {counted(len(graph.papers) + len(graph.notes), 'paper')} on the state"
    )
    tail = counted(len(problems), "problem") if problems else f"It holds together: {counts}."
    answer({"ok": not problems, "findings": [one.plain() for one in found]}, "\n".join([*lines, tail]), nexus.described)
    sys.exit(6 if problems else 0)


@agenda.command("tick")
@click.argument("ref", metavar="STEP")
@click.option("--undo", is_flag=True, help="Open it again.")
@with_nexus
def tick(nexus: "Nexus", ref: str, undo: bool) -> None:
    """Tick a step of a phase: core_loop#write, or its id alone in the active phase.

    A step is a row with a box, as in - [ ] write it {#write}; without an id its line counts, core_loop#L12.
    """
    from gitnexus.app.agenda import graph_of, only_active, written
    from gitnexus.docgraph.phases import ticked

    graph = graph_of(nexus.state)
    where, _, word = ref.rpartition("#")
    doc = graph.phase(where) if where else only_active(graph)
    paths = written(graph, ticked(graph, doc, word, done=not undo))
    answer({"changed": paths}, told(paths), nexus.described)


@agenda.command("patch")
@click.argument("run_id", metavar="RUN")
@click.option("--phase", "name", metavar="PHASE", help="The phase it worked on; the active one if not said.")
@click.option("--step", "steps", multiple=True, metavar="STEP", help="A step that it did.")
@click.option("--done", is_flag=True, help="With it the phase is done.")
@click.option("--write", is_flag=True, help="Write it into the checkout.")
@with_nexus
def patch(nexus: "Nexus", run_id: str, name: str | None, steps: tuple[str, ...], done: bool, write: bool) -> None:
    """Show what a run leaves behind in the agenda: a link to it, ticked steps, a phase that is done.

    Without --write nothing is changed.
    """
    from gitnexus.app.agenda import difference, graph_of, patches, written

    graph = graph_of(nexus.state)
    found = patches(nexus.state, graph, run_id, graph.phase(name) if name else None, steps, finish=done)
    paths = written(graph, [one.edit for one in found]) if write else []
    text = "".join(difference(one.edit) for one in found)
    answer(
        {"actions": [one.action.plain() for one in found], "changed": paths},
        told(paths) if write else visible(text).rstrip("\n") or "Nothing would change.",
        nexus.described,
    )


def _overview(graph: "Graph") -> dict[str, Any]:
    agenda = graph.agenda
    paths = [one.path for one in graph.papers] + [one.path for one in graph.notes]
    return {
        "agenda": {"path": agenda.path, "title": agenda.title, "lines": len(agenda.lines), "blob": agenda.blob,
                   "sections": [one.name for one in agenda.sections]} if agenda else None,
        "active": graph.active[0].id if graph.active else None,
        "phases": [phase_row(one) for one in graph.phases],
        "plans": sorted(path for path in paths if "/plans/" in path),
        "research": sorted(path for path in paths if "/research/" in path),
    }  # fmt: skip


def _words(graph: "Graph") -> str:
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
    lines = [head, *([columns(rows, indent="")] if rows else [])]
    for doc in graph.active[:1]:
        waits = [one for one in doc.steps if not one.done]
        lines += [f"Open in {doc.id or doc.path}:"] if waits else []
        lines += [f"  {doc.path}:{one.first}  {one_line(one.text, 90)}" for one in waits[:12]]
    return "\n".join(lines)


def _weight(weight: str) -> str:
    return "" if weight == "problem" else "hint: "


agenda.add_command(phase)
