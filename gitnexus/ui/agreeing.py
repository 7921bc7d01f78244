"""A person reads what somebody else's run is to do, and says whether it goes on here."""

from typing import TYPE_CHECKING

import click

from gitnexus.ui.asking import typed

if TYPE_CHECKING:
    from gitnexus.app.rundesk import RunDesk


def agree_first(desk: "RunDesk", said: str, *, asks: bool) -> None:
    """Show what a run of somebody else is to do at which commit, and keep the yes. Raises: ApprovalNeeded, Conflict.

    `said` is the hash that the person agrees to by a flag; without one they are asked, if `asks`: they are there.
    """
    from gitnexus.app.agreeing import agree, definition_lines, hash_to_agree_to, is_agreed, require_agreement

    if said:
        agree(desk, said)
    if is_agreed(desk):
        return
    hash_ = hash_to_agree_to(desk)  # before it is shown: a branch that moves meanwhile is not agreed to
    click.secho(f"{desk.run.id} was begun by somebody else. This is what it is to do:", fg="magenta", err=True)
    for line in definition_lines(desk):
        click.echo(f"  {line}", err=True)
    if asks and (typed("Let it go on here, under your policy? [yes/no]") or "").strip().lower() == "yes":
        agree(desk, hash_)
    require_agreement(desk)
