"""`git nexus query`."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, columns, note
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.query import Answer
    from gitnexus.projects.standpoint import Standpoint


@click.command("query", cls=NexusCommand)
@click.argument("ref")
@with_standpoint
def query(standpoint: "Standpoint", ref: str) -> None:
    """Show a task of any project.

    REF is T12 or .:T12 for the current project, my-api:T12 for another one by its name, an alias or 4 to 12 digits of
    its hash, and *:T12 for that task in every project that may be read.
    """
    from gitnexus.backlog.reference import parsed
    from gitnexus.projects.query import query as ask

    reference = parsed(ref)
    answers = ask(standpoint, reference)
    for project, why in answers.skipped:
        note(f"{project.name} cannot answer: {why}")
    if not reference.is_everywhere:
        (found,) = answers.found
        answer(found.plain(), _screen(found), found.at.project.described)
        return
    rows = [[one.at.ref, one_line(one.task.status, 20), one_line(one.task.title, 120)] for one in answers.found]
    answer(
        {
            "results": [one.plain() for one in answers.found],
            "total": len(answers.found),
            "skipped": [{"project": project.name, "reason": why} for project, why in answers.skipped],
        },
        columns(rows, indent=""),
        standpoint.described,
    )


def _screen(found: "Answer") -> str:
    head = f"{found.at.ref}  {one_line(found.task.status, 20)}  {one_line(found.task.title, 120)}"
    words = found.task.unknown.get("description")
    return f"{head}\n\n{visible(words)}" if isinstance(words, str) and words else head
