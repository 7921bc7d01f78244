"""Puts a run into the queue of a server, so that a worker continues it."""

import contextlib
from typing import TYPE_CHECKING

from gitnexus.base.errors import BadUsage, NexusError
from gitnexus.git.remotes import remote_names
from gitnexus.runs.ids import match_run_id
from gitnexus.runs.store import run_ids
from gitnexus.ui.output import print_answer
from gitnexus.ui.runs import run_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.runs.open_run import OpenRun


def run_after_queue(nexus: "Nexus", server: str | None, words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the remote and the words; in `--queue RUN`, the option has read the run as the name of a remote.

    Raises: BadUsage without a run.
    """
    if server and server not in remote_names(nexus.repo):
        with contextlib.suppress(NexusError):
            return "", (match_run_id(server, run_ids(nexus.state.required())), *words)
    if not words:
        raise BadUsage("which run? git nexus runs lists them")
    return server, words


def hand_over_run(nexus: "Nexus", run: "OpenRun", server: str, labels: str = "", network: str | None = None) -> None:
    """Queue a run for any free worker, and print that."""
    from gitnexus.sync.remote import resolve_remote
    from gitnexus.sync.remote_refs import resolve_state_branch
    from gitnexus.workers.requeue import requeue_run

    remote = resolve_state_branch(nexus.state.repo, resolve_remote(nexus.state, server or None))
    order = requeue_run(run, remote, tuple(labels.replace(",", " ").split()), network or "")
    text = f"{order.id} waits on {remote.shown} for a worker that continues it: git nexus queue"
    print_answer({**run_as_json(run, run.view()), "labels": list(order.labels)}, text, nexus.described)
