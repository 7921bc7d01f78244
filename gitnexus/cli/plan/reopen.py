"""`git nexus plan reopen`: reopen question NUMBER: remove its decision."""

from typing import TYPE_CHECKING

import click

from gitnexus.cycle import run_tool
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer_as_stored
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession


@click.command("reopen", cls=NexusCommand)
@click.argument("number", type=int)
@with_session
def reopen_question(session: "OpenSession", number: int) -> None:
    """Reopen question NUMBER: remove its decision."""
    found = run_tool(session, "plan_update", action="reopen", issue_id=number)
    answer_as_stored(found, f"Question {number} is open again.", session.described)
