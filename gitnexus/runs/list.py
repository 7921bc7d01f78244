"""All runs of a project at a glance, and which of them wait for a person."""

import contextlib
from typing import NamedTuple

from gitnexus.app.agreeing import is_agreed
from gitnexus.app.arrive import arrived, arrived_upto
from gitnexus.app.claims import claims_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import lines_changed, status_of
from gitnexus.app.runsteps import steps_of
from gitnexus.app.runstory import is_claimed
from gitnexus.base import clock
from gitnexus.base.errors import NexusError
from gitnexus.base.record import Record
from gitnexus.events.chain import walk
from gitnexus.events.checkpoint import load
from gitnexus.events.fold import fold
from gitnexus.events.view import RunView
from gitnexus.runs.clean import with_something
from gitnexus.runs.logs import archived
from gitnexus.runs.model import ENDED
from gitnexus.runs.store import runs_in
from gitnexus.state import State

_OVER = ("landed", "cancelled")
_ASKS = ("waiting", "blocked")


class Row(Record):
    """A line of the list; `branch` is empty for a run that has none, or none any more."""

    id: str
    status: str
    age: str
    agent: str
    branch: str
    lines: str
    waits: str
    title: str
    step: str = ""
    mode: str = ""
    foreign: bool = False
    claimed: bool = False
    status_claimed: bool = False


def rows_of(state: State, *, everything: bool) -> list[Row]:
    """Return the runs, the newest first; unless `everything`, those only that somebody may still do something about."""
    found = []
    there = with_something(state.repo)
    gone = set() if everything else archived(state.repo, state.objects) - there
    # By the second: of two runs of one minute the ids do not tell which is newer.
    for run in sorted(runs_in(state.required()), key=lambda run: (run.created, run.id), reverse=True):
        if not everything and (run.status in _OVER or (run.status in ENDED and run.id in gone)):
            continue
        desk = RunDesk(state, run)
        status, waits, step = _found_at(desk)
        added, removed = lines_changed(desk) if run.head else (0, 0)
        lines = f"+{added} −{removed}" if added or removed else ""
        branch = run.branch if run.id in there and not run.session else ""
        found.append(
            Row(id=run.id, status=status, age=_age(run.created), agent=run.agent, branch=branch, lines=lines,
                waits=waits, title=run.title, step=step, mode=_mode(desk), foreign=desk.foreign,
                claimed=is_claimed(desk), status_claimed=status in ENDED and claims_of(desk).end)
        )  # fmt: skip
    return found


class RunCounts(NamedTuple):
    """How many runs there are of each status, and how many of those somebody else began and are not over."""

    all: dict[str, int]
    foreign: dict[str, int]


def counted(state: State) -> RunCounts:
    """Return how many runs there are of each status."""
    found = RunCounts({}, {})
    for run in runs_in(state.required()):
        if run.status in ENDED:  # its log says nothing that its record does not
            found.all[run.status] = found.all.get(run.status, 0) + 1
            continue
        desk = RunDesk(state, run)
        status = _found_at(desk)[0]
        found.all[status] = found.all.get(status, 0) + 1
        if desk.foreign:
            found.foreign[status] = found.foreign.get(status, 0) + 1
    return found


def waiting_runs(state: State) -> list[RunDesk]:
    """Return the runs that wait for an answer, the oldest first; those that came from another clone too."""
    found = []
    for run in runs_in(state.required()):
        desk = RunDesk(state, run)
        hidden = run.status in ENDED and _waits_by_its_log(desk)
        if run.status not in ENDED or hidden:
            try:
                if (run.status in _ASKS or hidden) and not run.session:
                    arrived(state.repo.common_dir, state.objects, run, desk.head_file)
                view = desk.view()
            except NexusError:
                continue
            if _waits(view):
                found.append(desk)
    return found


def _waits_by_its_log(desk: RunDesk) -> bool:
    """True for a run of another machine whose record says that it is over, and whose log says that it waits."""
    if desk.run.status == "landed" or desk.log.path.exists():
        return False
    return bool(_waits_elsewhere(desk)) and claims_of(desk).end


def can_end(desk: RunDesk) -> bool:
    """True if all steps of a run are through, nothing waits any more, and nobody drives it."""
    view = desk.view()
    through = {name for name, node in view.nodes.items() if node.status in ("completed", "failed")}
    wanted = {node.id for node in steps_of(desk, desk.definition())}
    return view.status not in ENDED and wanted <= through and not _waits(view) and not desk.is_driven()


def goes_on_by_itself(desk: RunDesk) -> bool:
    """True for a workflow whose rest needs neither a program nor a model, and which nobody drives."""
    definition = desk.workflow() if not desk.run.session else None
    if definition is None or not is_agreed(desk):
        return False
    view = desk.view()
    left = [one for one in definition.nodes if one.id not in view.nodes or view.nodes[one.id].status != "completed"]
    plain = all(one.type != "command" and one.adapter in ("", "embedded") for one in left)
    return plain and view.status not in ENDED and not desk.is_driven()


def _waits_elsewhere(desk: RunDesk) -> str:
    with contextlib.suppress(NexusError):
        kept = load(desk.state.objects, desk.run.id)
        return _waits(fold(link.event for link in walk(kept.raw(), desk.run.id))) if kept else ""
    return ""


def _found_at(desk: RunDesk) -> tuple[str, str, str]:
    """Return the status of a run, what waits in it, and who took it over last."""
    try:
        view = desk.view()
    except NexusError:
        # Of another machine, or damaged: the record tells what it can, and the log that came along what waits.
        return desk.run.status, _waits_elsewhere(desk) if desk.run.status in _ASKS else "", ""
    status = "landed" if desk.run.status == "landed" else status_of(view, driven=desk.is_driven())
    if status == "stopped" and desk.foreign and arrived_upto(desk.folder)[0] >= view.seq:
        status = "running"  # for all that is known here: nobody went on with it on this machine
    return status, _waits(view), _last_step(view)


def _mode(desk: RunDesk) -> str:
    """Return the mode that a run was started in; nothing where its definition is of another machine, or was changed."""
    with contextlib.suppress(NexusError):
        return desk.mode or ""
    return ""


def _waits(view: RunView) -> str:
    count = sum(one.status in ("waiting", "unknown", "proposed") for one in view.actions.values())
    count += len(view.questions)
    return f"{count} waiting" if count else ""


def _last_step(view: RunView) -> str:
    """Return who took over last, where somebody did."""
    name, node = next(reversed(view.nodes.items()), ("", None))
    return f"{node.agent} ({name})" if node is not None and len(view.nodes) > 1 else ""


def _age(created: str) -> str:
    begun = clock.read(created)
    if begun is None:
        return "?"
    seconds = int((clock.now() - begun).total_seconds())
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"
