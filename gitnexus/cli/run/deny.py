"""`git nexus deny`: deny actions of a run, or all that wait if none is named."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import Conflict
from gitnexus.cli.run.decisions import (
    checkpoint_decision,
    choose_actions,
    continue_run,
    exit_if_followed,
    find_last_answer,
)
from gitnexus.cli.run.options import going_on_options
from gitnexus.runs.actions import approve as actions_approve
from gitnexus.runs.open_run import open_run
from gitnexus.runs.record import refresh_run_record
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.runs import format_run_summary, run_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.cli.run.options import Then


@click.command("deny", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.argument("actions", metavar="[ACTION…]", nargs=-1)
@click.option("--reason", default="", metavar="TEXT", help="The reason; the agent gets it when it continues.")
@going_on_options
@with_nexus
def deny_actions(nexus: "Nexus", run_id: str, actions: tuple[str, ...], reason: str, then: "Then") -> None:
    """Deny actions of a run, or all that wait if none is named."""
    run = open_run(nexus.state, run_id)
    late: list[str] = []
    chosen = choose_actions(run, actions)
    for name in chosen:
        status = actions_approve.deny_action(run, name, reason)
        print_note(f"{name}: {status}")
        late += [name] if status == "executed" else []
    continue_run(run, then)
    checkpoint_decision(run)
    if not run.record.session:
        refresh_run_record(run)
    answered, yes = find_last_answer(run)
    if answered and not chosen and yes:  # another process said yes after this one was asked for
        late.append(answered)
    if late:
        raise Conflict(
            f"{', '.join(late)} of {run.record.id} was approved before, and is done; this no came too late",
            hint=f"do not land it, or undo it by a commit: git nexus replay {run.record.id}",
        )
    view = run.view()
    print_answer(run_as_json(run, view), lambda: format_run_summary(run, view), nexus.described)
    exit_if_followed(run, then)
