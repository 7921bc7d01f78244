"""`git nexus agenda check`: list everything that is inconsistent, with file and line."""

import sys
from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.agenda.options import AT_OPTION
from gitnexus.docgraph.check import find_problems
from gitnexus.runs.agenda import load_doc_graph
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("check", cls=NexusCommand)
@AT_OPTION
@with_nexus
def check_agenda(nexus: "Nexus", at: str) -> None:
    """List everything that is inconsistent, with file and line.

    Broken links, unknown and duplicate ids, an agenda that is more than an index, several active phases and more. Exits
    with status 6 if there is a problem; hints are only printed.
    """
    graph = load_doc_graph(nexus.state, at)
    found = find_problems(graph)
    problems = [one for one in found if one.weight == "problem"]
    lines = [
        f"{one_line(one.path, 200)}:{one.line}: {_format_weight(one.weight)}{one_line(one.message, 300)} [{one.code}]"
        for one in found
    ]
    papers = count_of(len(graph.papers) + len(graph.notes), "paper")
    counts = f"{count_of(len(graph.phases), 'phase')}, {papers} on the state"
    tail = count_of(len(problems), "problem") if problems else f"It is consistent: {counts}."
    print_answer(
        {"ok": not problems, "findings": [one.plain() for one in found]}, "\n".join([*lines, tail]), nexus.described
    )
    sys.exit(6 if problems else 0)


def _format_weight(weight: str) -> str:
    return "" if weight == "problem" else "hint: "
