"""`git nexus checkpoint`: store the log of a run on its ref, refs/nexus/runs/RUN."""

from typing import TYPE_CHECKING

import click

from gitnexus.runs.open_run import open_run
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("checkpoint", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@with_nexus
def checkpoint_run(nexus: "Nexus", run_id: str) -> None:
    """Store the log of a run on its ref, refs/nexus/runs/RUN."""
    run = open_run(nexus.state, run_id)
    run.write_checkpoint()
    commit = run.view().checkpoint
    print_answer(
        {"run": run.record.id, "commit": commit}, f"{run.record.id} is on its ref at {commit[:12]}.", nexus.described
    )
