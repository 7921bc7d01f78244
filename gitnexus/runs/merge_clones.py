"""Records of runs as two clones know them: whoever is further in the run's life is right."""

from collections.abc import Callable, Mapping, Sequence

from gitnexus.base.errors import Invalid
from gitnexus.runs.ids import is_id
from gitnexus.runs.model import Run
from gitnexus.runs.store import FOLDER
from gitnexus.state.join import Joined, Meeting, settle_one

# How far a run is: what ended does not run again, and what landed stays so.
_FAR = {"running": 0, "blocked": 1, "waiting": 1, "failed": 2, "cancelled": 3, "completed": 4, "landed": 5}


def met(meeting: Meeting, paths: Sequence[str], is_ours: Callable[[str], bool] = lambda run: False) -> Joined:
    """Return what our records become; a task that was renumbered is followed.

    The record of a run `is_ours` stays: its log tells how it stands, and whoever pushes can only claim it.
    """
    done = Joined()
    for path in paths:
        if not is_id(path.removeprefix(f"{FOLDER}/").removesuffix(".json")):
            settle_one(meeting, path, done)
            continue
        row = meeting.rows[path]
        ours = is_ours(path.removeprefix(f"{FOLDER}/").removesuffix(".json"))
        base, mine, theirs = (_read(meeting.blob(oid), path) for oid in row)
        if theirs is None and row.theirs is not None and row.theirs != row.base:
            done.held[path] = "it is no record of a run"
        elif mine is not None and ours:
            pass
        elif mine is None or theirs is None or (base is None and mine.definition != theirs.definition):
            settle_one(meeting, path, done)
        else:
            after = further(mine, theirs) if row.base not in (row.mine, row.theirs) else None
            if after is not None and after != mine:
                done.files[path] = after.to_bytes()
            elif after is None:
                settle_one(meeting, path, done)
        if mine is not None and row.mine != row.base and path not in done.files:
            follow = followed(mine, meeting.renumbered)
            if follow != mine:
                done.files[path] = follow.to_bytes()
    return done


def further(mine: Run, theirs: Run) -> Run:
    """Return the record that knows more of the run."""
    return max((mine, theirs), key=lambda run: (_FAR[run.status], bool(run.head), run.ended, run.to_bytes()))


def followed(run: Run, numbers: Mapping[str, str]) -> Run:
    """Return a record whose task has its number of now."""
    return run.changed(task=numbers.get(run.task, run.task))


def _read(raw: bytes | None, path: str) -> Run | None:
    try:
        return None if raw is None else Run.from_bytes(raw, path)
    except Invalid:
        return None
