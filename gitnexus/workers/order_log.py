"""How far an order is: the log of its run, here and on the server, and its record. Nothing is begun twice."""

from pathlib import Path
from typing import NamedTuple

from gitnexus.app.acceptlog import accept_log
from gitnexus.app.across import brought, known
from gitnexus.app.arrive import LEASED, is_continued
from gitnexus.app.recorder import folder_of
from gitnexus.app.wire import Wire
from gitnexus.events.chain import walk
from gitnexus.events.checkpoint import at_commit
from gitnexus.events.log import FILE
from gitnexus.events.model import Event
from gitnexus.git.branches import tip
from gitnexus.git.exchange import fetched
from gitnexus.git.treediff import is_ancestor
from gitnexus.runs.archive import LOGS
from gitnexus.runs.model import Run
from gitnexus.runs.order import Order
from gitnexus.runs.store import path_of
from gitnexus.state import STATE_REF, Snapshot, State


class Progress(NamedTuple):
    """The log to go on from, empty if nobody began; `why` says why neither can be done. `ours`: not published yet."""

    events: list[Event]
    commit: str = ""
    ours: bool = False
    why: str = ""


def progress_of(state: State, wire: Wire, order: Order) -> Progress:
    """Return how far an order is, after asking the server; a commit is where our ref has to go. Raises: NexusError."""
    repo, log = state.repo, f"{LOGS}{order.id}"
    there = known(repo, wire, [log, f"refs/heads/{order.run().branch}"])
    brought(repo, wire, there)
    folder = folder_of(repo.common_dir, order.id)
    ours, here = (folder / LEASED).exists(), _local(folder)
    commit, claimed = _on_refs(state, wire, order.id, is_there=log in there)
    kept = at_commit(state.objects, order.id, commit).raw() if commit else b""
    ours = ours and is_continued(kept, here)
    if claimed and not ours:
        why = f"somebody began it already, and {claimed}: git nexus approver machine vouches for a worker's machine"
        return Progress([], why=why)
    raw = here if is_continued(kept, here) else kept
    if not raw and (status := _status(state, wire, order.id)):
        why = (
            f"somebody began it already: its record says {status}, and its log is not on {wire.shown}; "
            f"git nexus sync where it was begun, or git nexus queue --drop {order.id} and order it anew"
        )
        return Progress([], why=why)
    return Progress([link.event for link in walk(raw, order.id)], commit, ours)


def _on_refs(state: State, wire: Wire, run: str, *, is_there: bool) -> tuple[str, str]:
    """Return the newest commit of a run's log that counts, of our ref and the server's, and what does not count."""
    log = f"{LOGS}{run}"
    mine = tip(state.repo, log)
    theirs = tip(state.repo, wire.tracking(log)) if is_there else None
    if theirs is None or (mine is not None and is_ancestor(state.repo, theirs, mine)):
        return mine or "", ""
    accepted, claimed = accept_log(state, run, theirs, mine)
    return accepted or mine or "", claimed


def _local(folder: Path) -> bytes:
    return (folder / FILE).read_bytes() if (folder / FILE).exists() else b""


def _status(state: State, wire: Wire, run: str) -> str:
    """Return what the record of a run says, in our state or in the server's; nothing where there is none."""
    raw = state.latest().read(path_of(run))
    if raw is None and STATE_REF in known(state.repo, wire, [STATE_REF]):
        fetched(state.repo, wire.remote, {wire.there(STATE_REF): wire.incoming}, most=wire.most)
        raw = Snapshot(state.objects, tip(state.repo, wire.incoming)).read(path_of(run))
    return Run.from_bytes(raw, path_of(run)).status if raw is not None else ""
