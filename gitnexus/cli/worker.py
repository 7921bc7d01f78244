"""`git nexus worker` and `git nexus queue`: runs on more than one machine."""

import os
import signal
from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import Between, NexusCommand
from gitnexus.ui.output import answer, columns, counted, note, with_nexus

if TYPE_CHECKING:
    from types import FrameType

    from gitnexus.app import Nexus


@click.command("worker", cls=NexusCommand)
@click.option("--remote", metavar="R", help="The server whose queue to work on; origin if not said.")
@click.option("--labels", metavar="A,B", default="", help="What this machine has: runs that want more are left.")
@click.option("--name", metavar="NAME", default="", help="What others see; user and host if not said.")
@click.option("--lease", type=Between(1, 3600), default=60, show_default=True, metavar="SECONDS",
              help="After how long without a sign of life a run is taken over.")  # fmt: skip
@click.option("--poll", type=Between(0.05, 600), default=5, show_default=True, metavar="SECONDS",
              help="How often to look for runs.")  # fmt: skip
@click.option("--drain", is_flag=True, help="End when the queue holds nothing for this worker.")
@click.option("--once", is_flag=True, help="End after one run, or when there is none.")
@with_nexus
def worker(
    nexus: "Nexus",
    /,
    remote: str | None,
    labels: str,
    name: str,
    lease: float,
    poll: float,
    drain: bool,
    once: bool,
) -> None:
    """Take runs from the queue of a server, carry them out here, and publish branch and log.

    One worker has a run at a time; the server's refs decide. The run of a worker that died is taken over and goes on
    where its log ends. What needs an approval is published as it waits, for somebody else to answer.
    """
    from gitnexus.app.across import settled
    from gitnexus.app.sync import Asked, synced
    from gitnexus.app.wire import wire_to
    from gitnexus.app.worker import Worker

    wire = settled(nexus.state.repo, wire_to(nexus.state, remote))
    synced(nexus.state, wire, Asked(push=False))
    found = Worker(
        nexus.state, wire, one_line(name or _myself(), 80), frozenset(labels.replace(",", " ").split()), note,
        lease, poll, drain, once,
    )  # fmt: skip
    signal.signal(signal.SIGTERM, _ended)
    found.work()
    answer({"runs": found.done}, f"{counted(len(found.done), 'run')} carried out.", nexus.described)


@click.command("queue", cls=NexusCommand)
@click.argument("remote", required=False)
@click.option("--drop", metavar="RUN", help="Take a run out that nobody has claimed.")
@with_nexus
def queue(nexus: "Nexus", /, remote: str | None, drop: str | None) -> None:
    """Show the runs that wait on a server for a worker, and who has which."""
    from gitnexus.app.across import settled
    from gitnexus.app.queue import dropped, waiting
    from gitnexus.app.wire import wire_to

    wire = settled(nexus.state.repo, wire_to(nexus.state, remote))
    if drop:
        gone = dropped(nexus.state, wire, drop)
        answer({"dropped": gone}, f"{gone} is out of the queue.", nexus.described)
        return
    rows = waiting(nexus.state, wire)
    table = [
        [row.run, f"at {one_line(row.worker, 40)}" if row.worker else "waits",
         " ".join(row.order.labels) if row.order else "", one_line(row.order.title if row.order else row.why, 60)]
        for row in rows
    ]  # fmt: skip
    payload = [
        {"id": row.run, "worker": row.worker or None, "title": row.order.title if row.order else "",
         "labels": list(row.order.labels) if row.order else [], "why": row.why}
        for row in rows
    ]  # fmt: skip
    answer({"queue": payload}, columns(table, indent="") if table else "The queue is empty.", nexus.described)


def _myself() -> str:
    import getpass
    import socket

    return f"{getpass.getuser()}@{socket.gethostname()}-{os.getpid()}"


def _ended(_signal: int, _frame: "FrameType | None") -> None:
    raise KeyboardInterrupt
