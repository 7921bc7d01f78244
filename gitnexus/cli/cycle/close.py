"""`git nexus cycle close`: move plan and tasks into the history, and start an empty session."""

from typing import TYPE_CHECKING

import click

from gitnexus.app.close_cycle import forget_notes_after_close
from gitnexus.base.text import one_line
from gitnexus.cycle import run_tool
from gitnexus.state.secrets import as_stored
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer_as_stored, count_of, print_note
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession


@click.command("close", cls=NexusCommand)
@click.option("--refuse-open", is_flag=True, help="Do not close while a task is open.")
@with_session
def close_current_cycle(session: "OpenSession", refuse_open: bool) -> None:
    """Move plan and tasks into the history, and start an empty session."""
    closed = run_tool(session, "task_close", refuse_open=refuse_open)
    found = as_stored(forget_notes_after_close(session, closed))
    kept = found["archived"]
    text = (
        f"Closed on {one_line(found['branch'])}: {'a plan' if kept['plan'] else 'no plan'}, "
        f"{count_of(kept['decisions'], 'decision')}, {count_of(kept['tasks'], 'task')}. "
        f"The history now has {count_of(found['total_cycles'], 'cycle')}.\n"
        "Search it with: git nexus history"
    )
    if "memoryNotice" in found:
        print_note(f"no notes were forgotten: {found['memoryNotice']}")
    if "forgotten" in found:
        gone = found["forgotten"]
        text += (
            f"\nForgot {count_of(len(gone['notes']), 'note')}: git nexus memory restore --from {gone['commit'][:12]}"
        )
    answer_as_stored(found, text, session.described)
