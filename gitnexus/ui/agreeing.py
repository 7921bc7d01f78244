"""Shows the user what somebody else's run will do, and asks whether to continue it here."""

from typing import TYPE_CHECKING

import click

from gitnexus.runs.foreign_consent import (
    agreement_hash,
    definition_lines,
    is_agreed,
    record_agreement,
    require_agreement,
)
from gitnexus.ui.approval_prompt import ask_line

if TYPE_CHECKING:
    from gitnexus.runs.open_run import OpenRun


def ask_for_agreement(run: "OpenRun", said: str, *, asks: bool) -> None:
    """Show what somebody else's run will do at which commit, and store the agreement. Raises: ApprovalNeeded, Conflict.

    `said` is the hash that the user agrees to by an option; without it the user is asked if `asks` is set.
    """
    if said:
        record_agreement(run, said)
    if is_agreed(run):
        return
    lines = definition_lines(run)  # fails without its log, before anything is shown
    hash_ = agreement_hash(run)  # before it is shown: a branch that moves meanwhile is not agreed to
    click.secho(f"{run.record.id} was started by somebody else. This is what it will do:", fg="magenta", err=True)
    for line in lines:
        click.echo(f"  {line}", err=True)
    if asks and (ask_line("Continue it here, under your policy? [yes/no]") or "").strip().lower() == "yes":
        record_agreement(run, hash_)
    require_agreement(run)
