"""`git nexus runs`: list runs: branch, status, age, agent, lines, and what waits for you."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.runs.list import RunRow, list_runs
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus
from gitnexus.ui.runs import COLOURS, status_with_claim

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("runs", cls=NexusCommand)
@click.option("--all", "everything", is_flag=True, help="Also those that were landed, cancelled or cleaned.")
@with_nexus
def show_runs(nexus: "Nexus", everything: bool) -> None:
    """List runs: branch, status, age, agent, lines, and what waits for you.

    The branch names its run in every command; so do the first four letters of its end, such as k7fb.
    """
    found = list_runs(nexus.state, everything=everything)
    table = [
        [
            row.branch or row.id,
            click.style(status_with_claim(row.status, claimed=row.status_claimed), fg=COLOURS.get(row.status)),
            row.age,
            _format_agents(row),
            row.lines,
            row.waits,
            _format_origin(row) + _format_bypass(row) + one_line(row.title, 60),
        ]
        for row in found
    ]
    text = (
        format_columns(table, indent="")
        if table
        else "No runs. git nexus run PROMPT or git nexus run -- CMD starts one."
    )
    print_answer({"runs": [row.plain() for row in found]}, text, nexus.described)


def _format_bypass(row: "RunRow") -> str:
    return click.style("bypass: nobody is asked  ", fg="red", bold=True) if row.mode == "bypass" else ""


def _format_origin(row: "RunRow") -> str:
    words = [
        *(["foreign"] if row.foreign else []),
        *(["claimed"] if row.claimed else []),
        *(["contradicted"] if row.disputed else []),
    ]
    return click.style(f"{', '.join(words)}  ", fg="magenta", bold=True) if words else ""


def _format_agents(row: "RunRow") -> str:
    return f"{row.agent} → {row.step}" if row.step else row.agent
