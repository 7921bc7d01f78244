"""Creates or updates the records of runs known only by their logs, after a worker was killed while publishing."""

import contextlib
from collections.abc import Collection

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.events.chain import walk_chain
from gitnexus.events.checkpoint import load_checkpoint
from gitnexus.events.fold import fold
from gitnexus.events.log import FILE
from gitnexus.events.model import Event
from gitnexus.gateway.recorder import run_folder
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.store import read_run, run_ids, update_run, write_run
from gitnexus.state import State
from gitnexus.state.format import project_id_of


def record_found_runs(state: State, logs: Collection[str], arrived: Collection[str]) -> list[str]:
    """Create a record for each run of `logs` without one, update those of `arrived`; return the new ids."""
    known = set(run_ids(state.latest()))
    found = []
    for run_id in sorted(set(logs) - known):
        with contextlib.suppress(NexusError):  # a log without a run, or of another project
            record = _record_of(state, run_id)
            if record is not None:
                write_run(state, record, f"runs: find {run_id} by its log")
                found.append(run_id)
    for run_id in sorted(known & set(arrived)):
        with contextlib.suppress(NexusError):
            _bring_on(state, run_id)
    return found


def _events_of(state: State, run_id: str) -> list[Event]:
    kept = load_checkpoint(state.objects, run_id)
    return [link.event for link in walk_chain(kept.raw(), run_id)] if kept is not None else []


def _record_of(state: State, run_id: str) -> Run | None:
    """Return the record derived from a run's log; None for another project's run or a session."""
    events = _events_of(state, run_id)
    body = events[0].body if events else {}
    if (
        body.get("project") != project_id_of(state.latest())
        or not body.get("base")
        or body.get("branch") != f"nexus/{run_id}"
    ):
        return None
    run = Run(
        id=run_id,
        title=one_line(body.get("task", ""), 200),
        agent=body.get("agent", ""),
        base=body["base"],
        definition=body["definition"],
        created=events[0].time,
        onto=body.get("onto", ""),
        task=body.get("backlog", ""),
    )
    return _as_logged(run, events)


def _as_logged(run: Run, events: list[Event]) -> Run:
    view = fold(events)
    made = [str(event.body["commit"]) for event in events if event.kind == "run.committed"]
    return run.changed(
        status="landed" if view.landed else view.status,
        head=made[-1] if made else run.head,
        ended=(run.ended or events[-1].time) if view.status in ENDED else "",
        landed=view.landed or run.landed,
    )


def _bring_on(state: State, run_id: str) -> None:
    """Update the record of a run never opened here from its log, unless the log is only claimed."""
    run = read_run(state.latest(), run_id)
    if run.status in ENDED or run.session or (run_folder(state.repo.common_dir, run_id) / FILE).exists():
        return
    events = _events_of(state, run_id)
    kept = load_checkpoint(state.objects, run_id)
    if kept is None or any(one.status == "claimed" for one in OpenRun(state, run).stretches(kept.raw())):
        return
    status = _as_logged(run, events).status
    update_run(state, run_id, lambda before: _as_logged(before, events), f"runs: {run_id} is {status}")
