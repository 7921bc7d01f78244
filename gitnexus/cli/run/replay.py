"""`git nexus diff`, `replay`, `artifacts`, `checkpoint`: what a run changed, and how it came to that."""

import hashlib
import itertools
import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible_bytes
from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import answer, columns, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus

# Printed one by one, the lines of a long run would cost more than reading them.
_AT_ONCE = 500


@click.command("diff", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@with_nexus
def diff(nexus: "Nexus", run_id: str) -> None:
    """Show what a run changed: its branch against its base, and what waits for an answer on top of that."""
    from gitnexus.app.rundesk import open_run
    from gitnexus.app.runstory import changes
    from gitnexus.runs.shown import remember_shown
    from gitnexus.ui.asking import is_agent
    from gitnexus.ui.paging import page

    desk = open_run(nexus.state, run_id)
    found = changes(desk)
    text = visible_bytes(found.text)
    taken = True
    if sys.stdout.isatty() and not invocation(click.get_current_context()).as_json:
        taken = page("\n".join(_coloured(line) for line in text.split("\n")))
    else:
        answer({"run": desk.run.id, "diff": text}, text.rstrip("\n") or "Nothing was changed.", nexus.described)
    for digest in found.whole if taken and not is_agent() else ():
        remember_shown(digest)


@click.command("replay", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.option(
    "--verify", is_flag=True, help="Check the chain, the tokens and the commits, and walk a workflow once more."
)
@with_nexus
def replay(nexus: "Nexus", run_id: str, verify: bool) -> None:
    """Tell the story of a run from its log: who proposed what and why, what was approved, done, and kept."""
    from gitnexus.app.redriving import redriven
    from gitnexus.app.rundesk import open_run
    from gitnexus.app.runstory import events_of, lines_of, marked_lines, proved
    from gitnexus.events.timeline import timeline

    desk = open_run(nexus.state, run_id)
    as_json = invocation(click.get_current_context()).as_json
    lines = lines_of(desk) if as_json else timeline(events_of(desk))
    if desk.came:
        lines = marked_lines(desk, lines, as_json=as_json)
    while some := list(itertools.islice(lines, _AT_ONCE)):
        click.echo("\n".join(some))
    if verify:
        told = proved(desk)
        ends = f"hold, but {told.claimed} events are only claimed" if told.claimed else "all hold"
        note = f"{told.events} events in one chain, {told.tokens} tokens, {told.commits} commits: {ends}"
        click.echo(note, err=True)
        for stretch in told.stretches:
            click.echo(stretch.words, err=True)
        again = redriven(desk)
        if again is not None:
            state = f"sha256:{hashlib.sha256(again.state).hexdigest()}"
            click.echo(
                f"walked once more by its log, {again.events} events of the engine: the same state {state}", err=True
            )


@click.command("artifacts", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.argument("digest", required=False)
@with_nexus
def artifacts(nexus: "Nexus", run_id: str, digest: str | None) -> None:
    """List what a run kept, or print one by its digest."""
    from gitnexus.app.rundesk import open_run
    from gitnexus.app.runstory import artifact

    desk = open_run(nexus.state, run_id)
    if digest is not None:
        click.echo(visible_bytes(artifact(desk, digest)))
        return
    rows: list[dict[str, Any]] = [one.plain() for one in desk.view().artifacts]
    text = columns([[row["digest"][:19], str(row["size"]), one_line(row["name"], 80)] for row in rows], indent="")
    answer({"run": desk.run.id, "artifacts": rows}, text or "It kept nothing.", nexus.described)


@click.command("checkpoint", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@with_nexus
def checkpoint(nexus: "Nexus", run_id: str) -> None:
    """Put the log of a run on its ref, refs/nexus/runs/RUN."""
    from gitnexus.app.rundesk import open_run

    desk = open_run(nexus.state, run_id)
    desk.checkpointed()
    commit = desk.view().checkpoint
    answer({"run": desk.run.id, "commit": commit}, f"{desk.run.id} is on its ref at {commit[:12]}.", nexus.described)


def _coloured(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line
