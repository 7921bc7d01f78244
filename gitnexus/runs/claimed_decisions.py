"""Which decisions a run's log tells that nobody known here signed: they are said to be so, and are no facts."""

from typing import NamedTuple

from gitnexus.app.arrive import arrived_upto
from gitnexus.app.authorship import claims_in, stretches_of
from gitnexus.app.origin import is_foreign, signs
from gitnexus.app.recorder import folder_of
from gitnexus.app.rundesk import RunDesk, notes_folder
from gitnexus.app.runstory import events_of, raw_log
from gitnexus.base.errors import NexusError
from gitnexus.events.chain import walk
from gitnexus.events.checkpoint import load
from gitnexus.events.fold import fold
from gitnexus.events.log import FILE
from gitnexus.events.model import Event
from gitnexus.policy.place import mark
from gitnexus.runs.model import ENDED
from gitnexus.state import State

_ENDS = ("run.finished", "run.cancelled", "run.landed")
_DECIDES = ("permission.granted", "permission.denied", "tool.executed")


class Claims(NamedTuple):
    """The actions of which only a claim says what became of them, and whether one says how the run ended."""

    actions: frozenset[str] = frozenset()
    end: bool = False


def claims_of(desk: RunDesk) -> Claims:
    """Return what of a run's decisions is only claimed; of a log that cannot be looked at, all that is foreign."""
    if not desk.came:
        return Claims()
    try:
        events, stretches = list(events_of(desk)), desk.stretches(raw_log(desk))
        over = fold(events).status in ENDED
    except NexusError:
        return Claims(end=desk.foreign)
    actions: dict[str, bool] = {}
    end = False
    for event in events:
        if _decides(event):
            actions[event.body["action"]] = claims_in(stretches, event)
        elif event.kind in _ENDS:
            end = claims_in(stretches, event)
    if not desk.log.path.exists() and desk.run.status in ENDED and not over:
        end = True  # only its record says so, which whoever can push writes
    return Claims(frozenset(name for name, claimed in actions.items() if claimed), end)


def claimed_events(state: State, run: str, raw: bytes) -> frozenset[int]:
    """Return the events of a log that are only claimed, by their numbers. What an archive holds counts as it came."""
    folder = folder_of(state.repo.common_dir, run)
    is_here, arrived = (folder / FILE).exists(), arrived_upto(folder)[0]
    if is_here and not arrived:
        return frozenset()
    try:
        kept = load(state.objects, run)
        if kept is None:
            return frozenset()
        notes = notes_folder(state)
        ours = not is_foreign(notes, run, mark(state.repo.common_dir)) and not signs(notes, run)
        stretches = stretches_of(
            state, run, raw, kept.authors(), on_ref=kept.head.seq, arrived=arrived if is_here else kept.head.seq,
            unsigned="before" if ours else "claimed",
        )  # fmt: skip
        return frozenset(one.event.seq for one in walk(raw, run) if claims_in(stretches, one.event))
    except NexusError:
        return frozenset(range(1, raw.count(b"\n") + 2))


def _decides(event: Event) -> bool:
    return event.kind in _DECIDES or (event.kind == "action.judged" and event.body["verdict"] == "deny")
