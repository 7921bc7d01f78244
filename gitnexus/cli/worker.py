"""`git nexus worker`: take runs from the queue of a server, execute them here, and publish branch and log."""

import os
import signal
from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.sync.remote import resolve_remote
from gitnexus.sync.remote_refs import resolve_state_branch
from gitnexus.sync.sync import SyncOptions, sync_with_remote
from gitnexus.ui.commands import NexusCommand, NumberRange
from gitnexus.ui.output import count_of, print_answer, print_note, with_nexus, with_pygit2
from gitnexus.workers.worker import QueueWorker

if TYPE_CHECKING:
    from types import FrameType

    from gitnexus.app import Nexus


@click.command("worker", cls=NexusCommand)
@click.option("--remote", metavar="R", help="The server whose queue to work on. Default: origin.")
@click.option("--labels", metavar="A,B", default="", help="What this machine has; it leaves runs that need more.")
@click.option("--name", metavar="NAME", default="", help="The name that others see. Default: user and host.")
@click.option(
    "--lease",
    type=NumberRange(1, 3600),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="After how long without a heartbeat a run is taken over.",
)
@click.option(
    "--poll",
    type=NumberRange(0.05, 600),
    default=5,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for runs.",
)
@click.option("--drain", is_flag=True, help="Exit when the queue has nothing for this worker.")
@click.option("--once", is_flag=True, help="Exit after one run, or if there is none.")
@with_pygit2
@with_nexus
def run_worker(
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
    """Take runs from the queue of a server, execute them here, and publish branch and log.

    Only one worker has a run at a time; the server's refs decide. If a worker dies, another takes over its run and
    continues where its log ends. A run that needs an approval is published as waiting, so that somebody else can
    answer.
    """
    server = resolve_state_branch(nexus.state.repo, resolve_remote(nexus.state, remote))
    sync_with_remote(nexus.state, server, SyncOptions(push=False))
    found = QueueWorker(
        nexus.state,
        server,
        one_line(name or _own_name(), 80),
        frozenset(labels.replace(",", " ").split()),
        print_note,
        lease,
        poll,
        drain,
        once,
    )
    signal.signal(signal.SIGTERM, _end_worker)
    found.work()
    if found.given_up:
        run, why = next(iter(found.given_up.items()))
        raise Failed(
            f"{count_of(len(found.done), 'run')} carried out; {count_of(len(found.given_up), 'run')} could not be, and "
            f"{'stays' if len(found.given_up) == 1 else 'stay'} in the queue: {run}: {one_line(why, 300)}",
            hint="git nexus queue shows what waits; another worker takes it, or this one once that is mended",
            context={"runs": found.done, "left": found.given_up},
        )
    print_answer({"runs": found.done}, f"{count_of(len(found.done), 'run')} carried out.", nexus.described)


def _own_name() -> str:
    import getpass
    import socket

    return f"{getpass.getuser()}@{socket.gethostname()}-{os.getpid()}"


def _end_worker(_signal: int, _frame: "FrameType | None") -> None:
    raise KeyboardInterrupt
