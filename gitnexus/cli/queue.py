"""`git nexus queue`: show the runs that wait on a server for a worker, and who has which."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.sync.remote import resolve_remote
from gitnexus.sync.remote_refs import resolve_state_branch
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus
from gitnexus.workers.queue import list_queue, remove_from_queue

if TYPE_CHECKING:
    from gitnexus.app import Nexus

# Anybody who can push can add any number of orders; valid ones come first.
_MOST_LINES = 200


@click.command("queue", cls=NexusCommand)
@click.argument("remote", required=False)
@click.option("--drop", metavar="RUN", help="Remove a run that no worker has claimed.")
@with_nexus
def show_queue(nexus: "Nexus", /, remote: str | None, drop: str | None) -> None:
    """Show the runs that wait on a server for a worker, and who has which."""
    server = resolve_state_branch(nexus.state.repo, resolve_remote(nexus.state, remote))
    if drop:
        gone = remove_from_queue(nexus.state, server, drop)
        print_answer({"dropped": gone}, f"Removed {gone} from the queue.", nexus.described)
        return
    rows = sorted(list_queue(nexus.state, server), key=lambda row: not row.counts)
    table = [
        [
            row.run,
            f"at {one_line(row.worker, 40)}" if row.worker else "waits",
            " ".join(row.order.labels) if row.order else "",
            one_line(row.order.title if row.order else row.why, 60),
        ]
        for row in rows[:_MOST_LINES]
    ]
    table += [[f"{len(rows) - _MOST_LINES} more", "", "", "--json lists them all"]] if len(rows) > _MOST_LINES else []
    payload = [
        {
            "id": row.run,
            "worker": row.worker or None,
            "title": row.order.title if row.order else "",
            "labels": list(row.order.labels) if row.order else [],
            "why": row.why,
        }
        for row in rows
    ]
    print_answer(
        {"queue": payload}, format_columns(table, indent="") if table else "The queue is empty.", nexus.described
    )
