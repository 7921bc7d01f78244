"""`git nexus task claim`."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import BadUsage
from gitnexus.base.text import one_line
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer

if TYPE_CHECKING:
    from gitnexus.app.backlog import OpenBacklog


@click.command("claim", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--ttl", metavar="TIME", help="How long: 90s, 30m, 2h, 1d; 1h if not said.")
@click.option("--agent", metavar="NAME", help="Who claims; else what NEXUS_AGENT says, else the person whom git names.")
@click.option("--renew", is_flag=True, help="Go on with a claim that is yours.")
@click.option("--release", is_flag=True, help="Let it go.")
@click.option("--force", is_flag=True, help="Take it from whoever has it.")
@with_backlog
def claim(
    opened: "OpenBacklog", task: str, ttl: str | None, agent: str | None, renew: bool, release: bool, force: bool
) -> None:
    """Claim a task for a time, or let it go.

    Of many who claim a task at once exactly one gets it; the others are told who has it (exit status 7). A claim that
    has run out may be taken. An agent that has a name goes on with its own claim by claiming again.
    """
    from gitnexus.backlog import claim as claims
    from gitnexus.backlog import who as names

    if release and (ttl or renew):
        raise BadUsage("--release lets a claim go, --ttl and --renew go on with it: choose one")
    opened, task_id = opened.reach(task, "task claim")
    who = names.agent(agent) if agent else None
    if release:
        after = claims.release(opened.backlog, task_id, who, force=force)
    else:
        length = claims.duration(ttl or claims.DEFAULT_TTL)
        after = claims.claim(opened.backlog, task_id, length, who, renew=renew, force=force)
    held = after.claim
    words = f"{after.id} is yours, {one_line(held.by)}, until {held.until}" if held else f"{after.id} is free again"
    answer(
        lambda: {"task": opened.named(after.shown()), "claim": held.plain() if held else None},
        f"{words}: {one_line(after.title)}",
        lambda: opened.project,
    )
