"""`git nexus query`: show a task of any project."""

from typing import TYPE_CHECKING

import click

from gitnexus.backlog.reference import parse_reference
from gitnexus.base.text import make_visible, one_line
from gitnexus.projects.query import FoundTask, query_tasks
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, print_note
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("query", cls=NexusCommand)
@click.argument("ref")
@with_standpoint
def query_task(standpoint: "Standpoint", ref: str) -> None:
    """Show a task of any project.

    REF is T12 or .:T12 for the current project, my-api:T12 for another one by its name, an alias or 4 to 12 digits of
    its hash, and *:T12 for that task in every project that may be read.
    """
    reference = parse_reference(ref)
    answers = query_tasks(standpoint, reference)
    for project, why in answers.skipped:
        print_note(f"{project.name} cannot answer: {why}")
    if not reference.is_everywhere:
        (found,) = answers.found
        print_answer(found.plain(), _format_found_task(found), found.at.project.described)
        return
    rows = [[one.at.ref, one_line(one.task.status, 20), one_line(one.task.title, 120)] for one in answers.found]
    print_answer(
        {
            "results": [one.plain() for one in answers.found],
            "total": len(answers.found),
            "skipped": [{"project": project.name, "reason": why} for project, why in answers.skipped],
        },
        format_columns(rows, indent=""),
        standpoint.described,
    )


def _format_found_task(found: "FoundTask") -> str:
    head = f"{found.at.ref}  {one_line(found.task.status, 20)}  {one_line(found.task.title, 120)}"
    words = found.task.unknown.get("description")
    return f"{head}\n\n{make_visible(words)}" if isinstance(words, str) and words else head
