"""Publishes what killed processes left of their runs: the log on its ref, and the record as the log has it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import NexusError
from gitnexus.events.log import FILE
from gitnexus.gateway.recorder import run_folder
from gitnexus.runs.ids import is_run_id
from gitnexus.runs.import_log import LEASED, last_imported_event
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.origin import is_begun_here
from gitnexus.runs.record import reset_run_record
from gitnexus.runs.store import read_all_runs, record_ids
from gitnexus.state import State
from gitnexus.sync.published_logs import PublishedLogs

# More than any last line needs that is looked at for its kind and number.
_TAIL = 64 * 1024
_CHECKPOINT = "run.checkpointed"


def publish_stopped_runs(state: State) -> list[str]:
    """Write the log of every run that nobody drives to its ref, and its record; return what could not be written.

    An approval that was killed while it was carried out is finished first.

    A killed process leaves events in the log that the ref or the record does not have: other clones would show the run
    as it was before them. A log that ends in a checkpoint, or as it arrived from a remote, is not opened for its ref;
    one that ended as its record says is not opened at all.
    """
    above = run_folder(state.repo.common_dir, "x").parent
    try:
        local = {name for name in os.listdir(above) if is_run_id(name)}
    except FileNotFoundError:
        return []
    snapshot = state.latest()
    records = record_ids(snapshot)
    published = PublishedLogs(state, records)
    failed = []
    for record in read_all_runs(snapshot, without={run for run in records if run not in local or published.has(run)}):
        try:
            if _is_published(record, above / record.id):
                published.add(record.id)
            else:
                _publish_run(state, record, above / record.id)
        except NexusError as exc:
            failed.append(f"the log of {record.id} is not published: {exc.message}")
    published.save()
    return failed


def _is_published(record: Run, folder: Path) -> bool:
    """True if a run has ended, and its record and its log are as they were published."""
    tail = _last_events(folder)
    is_over = record.status in ENDED and bool(tail) and not (folder / LEASED).exists()
    return is_over and (bool(record.session) or (not _is_unpublished(tail, folder) and _is_recorded(tail, record)))


def _publish_run(state: State, record: Run, folder: Path) -> None:
    tail = _last_events(folder)
    is_new = _is_unpublished(tail, folder)
    if not tail or record.session or (not is_new and _is_recorded(tail, record)) or (folder / LEASED).exists():
        return
    run = OpenRun(state, record)
    if run.foreign or run.is_driven():
        return
    if any(action.status == "unknown" for action in run.view().actions.values()):
        from gitnexus.runs.finish_interrupted import finish_begun

        run = OpenRun(state, finish_begun(state, record))
    if is_new:
        run.write_checkpoint()
    # Elsewhere the record follows from the log that is published: two clones would set it in turn.
    if run.view().status != run.record.status != "landed" and is_begun_here(state.repo.common_dir, record.id):
        reset_run_record(run)


def _last_events(folder: Path) -> list[Mapping[str, Any]]:
    """Return the last complete events of a local log that fit into a small read, up to a line that is not an event."""
    try:
        with (folder / FILE).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.read().split(b"\n")[:-1]
    except OSError:
        return []
    found: list[Mapping[str, Any]] = []
    for line in reversed(lines):
        try:
            event = parse_json(line)
            found.append({"kind": event["kind"], "seq": event["seq"], "ok": event["body"].get("ok")})
        except (NexusError, KeyError, TypeError, AttributeError):
            found = found or [{"kind": "", "seq": 0, "ok": None}]  # opening it reports what is wrong
            break
        if event["kind"] != _CHECKPOINT:
            break
    return found


def _is_unpublished(tail: list[Mapping[str, Any]], folder: Path) -> bool:
    """True if the last event is neither a checkpoint nor the last one that was imported."""
    return bool(tail) and tail[0]["kind"] != _CHECKPOINT and tail[0]["seq"] != last_imported_event(folder)[0]


def _is_recorded(tail: list[Mapping[str, Any]], record: Run) -> bool:
    """True if a log ended as its record says. A log that has not ended has to be folded."""
    ends = {
        "run.landed": "landed",
        "run.cancelled": "cancelled",
        "run.finished": "completed" if tail[-1]["ok"] else "failed",
    }
    end = ends.get(tail[-1]["kind"])
    return record.status == "landed" or (record.status == end if end else record.status in ENDED)
