"""Decides whether the local log of a run that began elsewhere gives way to a fetched one that is signed to its end.

Reads both logs and this machine's card; changes nothing.
"""

from gitnexus.base.errors import NexusError
from gitnexus.events.chain import walk_chain
from gitnexus.events.checkpoint import Checkpoint, load_checkpoint
from gitnexus.events.fold import fold
from gitnexus.events.log import FILE
from gitnexus.events.model import Event
from gitnexus.gateway.recorder import run_folder
from gitnexus.runs.import_log import LEASED, has_local_events
from gitnexus.runs.log_signatures import has_only_leading_claims, is_this_machine_vouched_for
from gitnexus.runs.model import ENDED
from gitnexus.runs.open_run import notes_folder
from gitnexus.runs.origin import origin_clone_mark
from gitnexus.state import State
from gitnexus.sync.accept_log import count_common_lines, stretches_on_ref

# What a person without an approver's key adds to a log by `deny` and `cancel`: no work of an agent, no yes.
_DECIDES = ("permission.denied", "run.cancelled")
_FOLLOWS = ("run.finished", "run.checkpointed", "decision.contradicted", "decision.settled")


def why_ours_gives_way(state: State, run: str, theirs: Checkpoint) -> str:
    """Return what in our log of a run gives way to the signed log `theirs`, "" if ours stays.

    Claims do that were accepted before their signer was known here. So does a no of this machine, if no approver
    vouches for it and `theirs` decided the same action: in no other clone does it count. Work that was done here stays.
    """
    try:
        folder = run_folder(state.repo.common_dir, run)
        if origin_clone_mark(notes_folder(state), run) or (folder / LEASED).exists():
            return ""
        ours, raw = load_checkpoint(state.objects, run), theirs.raw()
        here = (folder / FILE).read_bytes() if (folder / FILE).exists() else ours.raw() if ours is not None else b""
        events = [link.event for link in walk_chain(raw, run)]
        stretches = stretches_on_ref(state, theirs)
        if raw.partition(b"\n")[0] != here.partition(b"\n")[0] or stretches[-1].status != "signed":
            return ""
        if not has_only_leading_claims(stretches):
            return ""
        if ours is not None and not has_local_events(folder):
            return "" if has_only_leading_claims(stretches_on_ref(state, ours)) else "had claims in it"
        common = count_common_lines(raw, here)
        mine = [link.event for link in walk_chain(here, run)][common:]
        if not _is_decided_by(mine, events, common) or is_this_machine_vouched_for(state):
            return ""
        return "ended with a decision of a machine for which no approver vouches"
    except NexusError:
        return ""


def _is_decided_by(mine: list[Event], theirs: list[Event], common: int) -> bool:
    """True if the events `mine` are decisions alone, and `theirs` decided each of the same after the common part."""
    if any(event.kind not in (*_DECIDES, *_FOLLOWS) for event in mine):
        return False
    if not any(event.kind in _DECIDES for event in mine):
        return False
    before, after = fold(theirs[:common]), fold(theirs)
    for event in mine:
        if event.kind == "run.cancelled" and after.status not in ENDED:
            return False
        if event.kind == "permission.denied":
            action = event.body["action"]
            old, new = before.actions.get(action), after.actions.get(action)
            if new is None or new.status not in ("approved", "executed", "denied") or old == new:
                return False
    return True
