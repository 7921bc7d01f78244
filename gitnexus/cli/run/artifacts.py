"""`git nexus artifacts`: list the artifacts of a run, or print one by its digest."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible_bytes
from gitnexus.runs.open_run import open_run
from gitnexus.runs.story import output_of_action, read_artifact
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("artifacts", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.argument("digest", metavar="[DIGEST|ACTION]", required=False)
@with_nexus
def show_artifacts(nexus: "Nexus", run_id: str, digest: str | None) -> None:
    """List the artifacts of a run, or print one by its digest; by the name of an action what its command printed."""
    run = open_run(nexus.state, run_id)
    if digest is not None and digest in run.view().actions:
        output = output_of_action(run, digest)
        shown = visible_bytes(output.removesuffix("\n").encode("utf-8", "replace"))
        print_answer({"run": run.record.id, "action": digest, "output": output}, shown, nexus.described)
        return
    if digest is not None:
        click.echo(visible_bytes(read_artifact(run, digest)))
        return
    rows: list[dict[str, Any]] = [one.plain() for one in run.view().artifacts]
    text = format_columns(
        [[row["digest"][:19], str(row["size"]), one_line(row["name"], 80)] for row in rows], indent=""
    )
    print_answer({"run": run.record.id, "artifacts": rows}, text or "It has no artifacts.", nexus.described)
