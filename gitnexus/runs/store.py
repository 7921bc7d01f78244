"""Reads and writes the records of runs on the state ref (`runs/<run>.json`)."""

import contextlib
from collections.abc import Callable, Collection

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.runs.ids import is_run_id, match_run_id
from gitnexus.runs.model import Run
from gitnexus.state import Change, Snapshot, State

FOLDER = "runs"
_SUFFIX = ".json"


def record_path(run: str) -> str:
    """Return the path of a run's record in the state."""
    return f"{FOLDER}/{run}{_SUFFIX}"


def run_ids(snapshot: Snapshot) -> list[str]:
    """Return the ids of all runs, oldest first."""
    names = (name.removesuffix(_SUFFIX) for name in snapshot.names(FOLDER) if name.endswith(_SUFFIX))
    return sorted(name for name in names if is_run_id(name))


def record_ids(snapshot: Snapshot) -> dict[str, str]:
    """Return the blob ids of the records by run, oldest first; nothing is read."""
    rows = {name.removesuffix(_SUFFIX): oid for name, oid in snapshot.oids(FOLDER).items() if name.endswith(_SUFFIX)}
    return {run: oid for run, oid in rows.items() if is_run_id(run)}


def read_all_runs(snapshot: Snapshot, without: Collection[str] = ()) -> list[Run]:
    """Return all readable records, oldest first, but those of the runs in `without`."""
    wanted = {run: oid for run, oid in record_ids(snapshot).items() if run not in without}
    found = []
    for run, raw in zip(wanted, snapshot.blobs_or_none(list(wanted.values())), strict=True):
        if raw is None:
            snapshot.unreadable.append(record_path(run))
        else:
            with contextlib.suppress(Invalid):  # `git nexus doctor` reports it
                found.append(Run.from_bytes(raw, record_path(run)))
    return sorted(found, key=lambda run: run.id)


def read_run(snapshot: Snapshot, word: str) -> Run:
    """Return the run that a word names. Raises: NotFound, Failed, Invalid."""
    run = match_run_id(word, run_ids(snapshot))
    raw = snapshot.read(record_path(run))
    if raw is None:
        raise NotFound(f"there is no run {run}")
    return Run.from_bytes(raw, record_path(run))


def write_run(state: State, run: Run, why: str) -> Run:
    """Write a new record, or replace an existing one."""
    return state.transact(lambda snapshot: Change({record_path(run.id): run.to_bytes()}, why, run))


def update_run(state: State, run_id: str, change: Callable[[Run], Run], why: str) -> Run:
    """Apply `change` to the present record; writes nothing if it does not differ. Raises: NotFound."""

    def decide(snapshot: Snapshot) -> Change[Run]:
        before = read_run(snapshot, run_id)
        after = change(before)
        return Change({} if after == before else {record_path(run_id): after.to_bytes()}, why, after)

    return state.transact(decide)
