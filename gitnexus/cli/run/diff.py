"""`git nexus diff`: show what a run changed."""

import sys
from typing import TYPE_CHECKING

import click

from gitnexus.base.text import visible_bytes
from gitnexus.policy.shown_cards import remember_shown
from gitnexus.runs.finish_interrupted import finish_begun
from gitnexus.runs.open_run import open_run
from gitnexus.runs.story import diff_of_run
from gitnexus.ui.approval_prompt import is_started_by_agent
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.ui.paging import show_in_pager, was_output_read

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("diff", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@with_nexus
def show_run_diff(nexus: "Nexus", run_id: str) -> None:
    """Show what a run changed: its branch against its base, and what waits for an answer on top of that."""
    run = open_run(nexus.state, run_id)
    run.record = finish_begun(nexus.state, run.record)
    found = diff_of_run(run)
    text = visible_bytes(found.text)
    taken = True
    if sys.stdout.isatty() and not current_invocation(click.get_current_context()).as_json:
        taken = show_in_pager("\n".join(_color_line(line) for line in text.split("\n")))
    else:
        print_answer({"run": run.record.id, "diff": text}, text.rstrip("\n") or "Nothing was changed.", nexus.described)
        taken = not found.whole or was_output_read()
    for digest in found.whole if taken and not is_started_by_agent() else ():
        remember_shown(digest)


def _color_line(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line
