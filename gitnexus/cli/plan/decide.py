"""`git nexus plan decide`: record what was decided on question NUMBER."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cycle import run_tool
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer_as_stored, count_of
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession


@click.command("decide", cls=NexusCommand)
@click.argument("number", type=int)
@click.argument("decision")
@with_session
def decide_question(session: "OpenSession", number: int, decision: str) -> None:
    """Record what was decided on question NUMBER."""
    found = run_tool(session, "plan_decide", issue_id=number, decision=decision)
    left = len(found.get("remaining", []))
    tail = f"{count_of(left, 'question')} left." if left else "All questions are decided.\nNext: git nexus plan tasks"
    answer_as_stored(found, f"Decided: {one_line(found['issue'])}. {tail}", session.described)
