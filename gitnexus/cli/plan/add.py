"""`git nexus plan add`: add a question to the open plan."""

from typing import TYPE_CHECKING

import click

from gitnexus.cycle import run_tool
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer_as_stored
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession


@click.command("add", cls=NexusCommand)
@click.argument("title", metavar="QUESTION")
@with_session
def add_question(session: "OpenSession", title: str) -> None:
    """Add a question to the open plan."""
    found = run_tool(session, "plan_update", action="add", title=title)
    answer_as_stored(found, f"Added question {found['issue']['id']}.", session.described)
