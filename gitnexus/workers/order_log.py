"""Determines how far an order is, from its run's log (here and on the server) and record, so nothing starts twice."""

from pathlib import Path
from typing import NamedTuple

from gitnexus.events.chain import walk_chain
from gitnexus.events.checkpoint import checkpoint_at_commit
from gitnexus.events.log import FILE
from gitnexus.events.model import Event
from gitnexus.gateway.recorder import run_folder
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.exchange import fetch_remote_refs
from gitnexus.runs.archive import LOGS
from gitnexus.runs.import_log import LEASED, includes_log
from gitnexus.runs.model import Run
from gitnexus.runs.order import RunOrder
from gitnexus.runs.store import record_path
from gitnexus.state import STATE_REF, Snapshot, State
from gitnexus.sync.accept_log import accept_log
from gitnexus.sync.remote import Remote
from gitnexus.sync.remote_refs import fetch_to_tracking, find_remote_refs


class OrderProgress(NamedTuple):
    """The log to continue from, "" if not begun; `why` if neither is possible. `ours`: not published yet."""

    events: list[Event]
    commit: str = ""
    ours: bool = False
    why: str = ""


def find_order_progress(state: State, remote: Remote, order: RunOrder) -> OrderProgress:
    """Ask the server and return how far an order is; a commit is the new value of our ref. Raises: NexusError."""
    repo, log = state.repo, f"{LOGS}{order.id}"
    there = find_remote_refs(repo, remote, [log, f"refs/heads/{order.run().branch}"])
    fetch_to_tracking(repo, remote, there)
    folder = run_folder(repo.common_dir, order.id)
    ours, here = (folder / LEASED).exists(), _read_local_log(folder)
    commit, claimed = _newest_log_commit(state, remote, order.id, is_there=log in there)
    kept = checkpoint_at_commit(state.objects, order.id, commit).raw() if commit else b""
    ours = ours and includes_log(kept, here)
    if claimed and not ours:
        why = f"it was started already, and {claimed}: git nexus approver machine vouches for a worker's machine"
        return OrderProgress([], why=why)
    raw = here if includes_log(kept, here) else kept
    if not raw and (status := _recorded_status(state, remote, order.id)):
        why = (
            f"it was started already: its record says {status}, and its log is not on {remote.shown}; run "
            f"git nexus sync in the clone where it began, or git nexus queue --drop {order.id} and queue it again"
        )
        return OrderProgress([], why=why)
    return OrderProgress([link.event for link in walk_chain(raw, order.id)], commit, ours)


def _newest_log_commit(state: State, remote: Remote, run: str, *, is_there: bool) -> tuple[str, str]:
    """Return the newest acceptable commit of a run's log, ours or the server's, and what is not accepted."""
    log = f"{LOGS}{run}"
    mine = tip_of_ref(state.repo, log)
    theirs = tip_of_ref(state.repo, remote.tracking_ref(log)) if is_there else None
    if theirs is None or (mine is not None and is_ancestor(state.repo, theirs, mine)):
        return mine or "", ""
    accepted, claimed = accept_log(state, run, theirs, mine)
    return accepted or mine or "", claimed


def _read_local_log(folder: Path) -> bytes:
    return (folder / FILE).read_bytes() if (folder / FILE).exists() else b""


def _recorded_status(state: State, remote: Remote, run: str) -> str:
    """Return a run's recorded status from our state or the server's; "" if there is none."""
    raw = state.latest().read(record_path(run))
    if raw is None and STATE_REF in find_remote_refs(state.repo, remote, [STATE_REF]):
        fetch_remote_refs(state.repo, remote.remote, {remote.there(STATE_REF): remote.incoming}, most=remote.most)
        raw = Snapshot(state.objects, tip_of_ref(state.repo, remote.incoming)).read(record_path(run))
    return Run.from_bytes(raw, record_path(run)).status if raw is not None else ""
