"""`git nexus replay`: show what happened in a run, from its log."""

import hashlib
import itertools
from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import VerificationFailed
from gitnexus.events.timeline import format_timeline
from gitnexus.runs.open_run import open_run
from gitnexus.runs.story import log_lines, marked_lines, read_events, verify_run
from gitnexus.runs.workflow.replay import replay_workflow
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import count_of, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus

# Printed one by one, the lines of a long run would cost more than reading them.
_AT_ONCE = 500


@click.command("replay", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.option("--verify", is_flag=True, help="Check the chain, the tokens and the commits, and replay a workflow.")
@click.option("--require-signed", is_flag=True, help="With --verify: fail if an event is only claimed.")
@with_nexus
def replay_run(nexus: "Nexus", run_id: str, verify: bool, require_signed: bool) -> None:
    """Show what happened in a run, from its log: what was proposed and why, approved, executed and stored."""
    if require_signed and not verify:
        raise click.UsageError("--require-signed is for --verify")
    run = open_run(nexus.state, run_id)
    as_json = current_invocation(click.get_current_context()).as_json
    lines = log_lines(run) if as_json else format_timeline(read_events(run))
    if run.came:
        lines = marked_lines(run, lines, as_json=as_json)
    while some := list(itertools.islice(lines, _AT_ONCE)):
        click.echo("\n".join(some))
    if verify:
        told = verify_run(run)
        ends = f"valid, but {told.claimed} events are only claimed" if told.claimed else "all valid"
        proofs = f"{count_of(told.tokens, 'token')}, {count_of(told.commits, 'commit')}"
        click.echo(f"{count_of(told.events, 'event')} in one chain, {proofs}: {ends}", err=True)
        if told.withheld:
            many = "proposals were" if told.withheld > 1 else "proposal was"
            where = f"not carried out and {'are' if told.withheld > 1 else 'is'} not on this machine"
            click.echo(f"{told.withheld} {many} {where}: what holds a secret stays where it was made", err=True)
        for stretch in told.stretches:
            click.echo(stretch.words, err=True)
        again = replay_workflow(run)
        if again is not None:
            state = f"sha256:{hashlib.sha256(again.state).hexdigest()}"
            calls = f" and {again.calls} calls of tools by models" if again.calls else ""
            click.echo(
                f"replayed from its log, {again.events} events of the engine{calls}: the same state {state}", err=True
            )
        if require_signed and told.claimed:
            raise VerificationFailed(
                f"{told.claimed} of {told.events} events of {run.record.id} are only claimed",
                hint="nobody who is known here signed them; git nexus sync brings a signed log, if there is one",
                context={"run": run.record.id, "claimed": told.claimed},
            )
