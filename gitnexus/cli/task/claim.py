"""`git nexus task claim`: claim a task for a limited time, or release it."""

from typing import TYPE_CHECKING

import click

from gitnexus.backlog import claim as claims
from gitnexus.backlog import claimant as names
from gitnexus.base.errors import BadUsage
from gitnexus.base.text import one_line
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("claim", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--ttl", metavar="TIME", help="How long: 90s, 30m, 2h, 1d. Default: 1h.")
@click.option("--agent", metavar="NAME", help="Who claims. Default: $NEXUS_AGENT, else git's user.name.")
@click.option("--renew", is_flag=True, help="Renew a claim of your own.")
@click.option("--release", is_flag=True, help="Release the claim.")
@click.option("--force", is_flag=True, help="Take it from the present holder.")
@with_backlog
def claim_backlog_task(
    opened: "OpenBacklog", task: str, ttl: str | None, agent: str | None, renew: bool, release: bool, force: bool
) -> None:
    """Claim a task for a limited time, or release it.

    If several claim a task at once, exactly one gets it; the others see who has it (exit status 7). An expired
    claim may be taken. An agent with a name renews its own claim by claiming again.
    """
    if release and (ttl or renew):
        raise BadUsage("--release ends a claim, --ttl and --renew extend it: choose one")
    opened, task_id = opened.reach_task(task, "task claim")
    who = names.agent_claimant(agent) if agent else None
    if release:
        after = claims.release_task(opened.backlog, task_id, who, force=force)
    else:
        length = claims.parse_claim_duration(ttl or claims.DEFAULT_TTL)
        after = claims.claim_task(opened.backlog, task_id, length, who, renew=renew, force=force)
    held = after.claim
    words = f"{after.id} is yours, {one_line(held.by)}, until {held.until}" if held else f"{after.id} is free again"
    print_answer(
        lambda: {"task": opened.named(after.shown()), "claim": held.plain() if held else None},
        f"{words}: {one_line(after.title)}",
        lambda: opened.project,
    )
