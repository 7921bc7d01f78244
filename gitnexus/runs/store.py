"""The records of runs on the state ref: `runs/<run>.json`."""

from collections.abc import Callable

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.runs.ids import is_id, meant
from gitnexus.runs.model import Run
from gitnexus.state import Change, Snapshot, State

FOLDER = "runs"
_SUFFIX = ".json"


def path_of(run: str) -> str:
    """Return where a run's record is kept."""
    return f"{FOLDER}/{run}{_SUFFIX}"


def ids_in(snapshot: Snapshot) -> list[str]:
    """Return the ids of all runs, the oldest first."""
    names = (name.removesuffix(_SUFFIX) for name in snapshot.names(FOLDER) if name.endswith(_SUFFIX))
    return sorted(name for name in names if is_id(name))


def runs_in(snapshot: Snapshot) -> list[Run]:
    """Return all records that can be read, the oldest first."""
    found = []
    for name, raw in snapshot.files(FOLDER).items():
        if is_id(name.removesuffix(_SUFFIX)):
            try:
                found.append(Run.from_bytes(raw, f"{FOLDER}/{name}"))
            except Invalid:
                continue  # the doctor names it
    return sorted(found, key=lambda run: run.id)


def read(snapshot: Snapshot, word: str) -> Run:
    """Return the run that a word means. Raises: NotFound, Failed, Invalid."""
    run = meant(word, ids_in(snapshot))
    raw = snapshot.read(path_of(run))
    if raw is None:
        raise NotFound(f"there is no run {run}")
    return Run.from_bytes(raw, path_of(run))


def put(state: State, run: Run, why: str) -> Run:
    """Write a record, new or whole anew."""
    return state.transact(lambda snapshot: Change({path_of(run.id): run.to_bytes()}, why, run))


def changed(state: State, run_id: str, change: Callable[[Run], Run], why: str) -> Run:
    """Change a record as it is now; nothing is written where nothing differs. Raises: NotFound."""

    def decide(snapshot: Snapshot) -> Change[Run]:
        before = read(snapshot, run_id)
        after = change(before)
        return Change({} if after == before else {path_of(run_id): after.to_bytes()}, why, after)

    return state.transact(decide)
