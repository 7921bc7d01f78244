"""`git nexus plan start`: start a plan about TOPIC; an open plan is archived first."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cycle import run_tool
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer_as_stored, count_of
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession


@click.command("start", cls=NexusCommand)
@click.argument("topic")
@click.argument("issues", nargs=-1, metavar="QUESTION…")
@click.option("--research", metavar="TEXT", default="", help="What was found out before planning.")
@with_session
def start_new_plan(session: "OpenSession", topic: str, issues: tuple[str, ...], research: str) -> None:
    """Start a plan about TOPIC; an open plan is archived first."""
    found = run_tool(session, "plan_start", topic=topic, issues=list(issues), research_summary=research)
    text = f"Plan {found['plan_id']} is open: {one_line(topic)}, {count_of(found['issueCount'], 'question')}."
    before = "\nThe previous plan is in the history." if found["previousArchived"] else ""
    answer_as_stored(found, text + before + "\nNext: git nexus plan decide NUMBER DECISION", session.described)
