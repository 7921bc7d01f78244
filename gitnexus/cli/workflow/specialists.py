"""`git nexus workflow specialists`: show who does the work of each node: rules, a model, or an agent."""

from typing import TYPE_CHECKING

import click

from gitnexus.runs.workflow.backends import list_specialist_backends
from gitnexus.runs.workflow.routing import unsigned_workflow_keys
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, print_note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("specialists", cls=NexusCommand)
@with_nexus
def list_specialists(nexus: "Nexus") -> None:
    """Show who does the work of each node: rules, a model, or an agent; and what is missing for it.

    The setting workflow.specialists selects it: embedded, model, claude, codex and so on. No model is called.
    """
    for key in unsigned_workflow_keys(nexus.state):
        print_note(f"{key} of the project's settings does not count before git nexus policy trust")
    found = list_specialist_backends(nexus.state)
    rows = [
        {
            "specialist": one.specialist,
            "by": one.by,
            "work": list(one.work),
            "detail": one.detail,
            "missing": one.missing,
        }
        for one in found
    ]
    shown = [[one.specialist, one.by, ", ".join(one.work), one.missing or one.detail] for one in found]
    print_answer({"specialists": rows}, format_columns(shown, indent=""), nexus.described)
