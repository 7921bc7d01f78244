"""Merges the run records of two clones: the record that is further in the run's life wins."""

from collections.abc import Callable, Mapping, Sequence

from gitnexus.base.errors import Invalid
from gitnexus.runs.ids import is_run_id
from gitnexus.runs.model import Run
from gitnexus.runs.store import FOLDER
from gitnexus.state.join import MergeContext, MergedFiles, merge_plain_file

# Rank of each status: an ended run does not run again, and a landed one stays landed.
_FAR = {"running": 0, "blocked": 1, "waiting": 1, "failed": 2, "cancelled": 3, "completed": 4, "landed": 5}


def merge_run_records(
    meeting: MergeContext, paths: Sequence[str], is_ours: Callable[[str], bool] = lambda run: False
) -> MergedFiles:
    """Return our merged records, with task numbers updated after a renumbering.

    Our record of a run for which `is_ours` is True stays: its log is here, and the other clone can only claim a status.
    """
    done = MergedFiles()
    for path in paths:
        if not is_run_id(path.removeprefix(f"{FOLDER}/").removesuffix(".json")):
            merge_plain_file(meeting, path, done)
            continue
        row = meeting.rows[path]
        ours = is_ours(path.removeprefix(f"{FOLDER}/").removesuffix(".json"))
        base, mine, theirs = (_parse_run_record(meeting.blob(oid), path) for oid in row)
        if theirs is None and row.theirs is not None and row.theirs != row.base:
            done.held[path] = "it is not a record of a run"
        elif mine is not None and ours:
            pass
        elif mine is None or theirs is None or (base is None and mine.definition != theirs.definition):
            merge_plain_file(meeting, path, done)
        else:
            after = more_advanced_record(mine, theirs) if row.base not in (row.mine, row.theirs) else None
            if after is not None and after != mine:
                done.files[path] = after.to_bytes()
            elif after is None:
                merge_plain_file(meeting, path, done)
        if mine is not None and row.mine != row.base and path not in done.files:
            follow = with_renumbered_task(mine, meeting.renumbered)
            if follow != mine:
                done.files[path] = follow.to_bytes()
    return done


def more_advanced_record(mine: Run, theirs: Run) -> Run:
    """Return the record that is further in the run's life."""
    return max((mine, theirs), key=lambda run: (_FAR[run.status], bool(run.head), run.ended, run.to_bytes()))


def with_renumbered_task(run: Run, numbers: Mapping[str, str]) -> Run:
    """Return a record with the new number of its task."""
    return run.changed(task=numbers.get(run.task, run.task))


def _parse_run_record(raw: bytes | None, path: str) -> Run | None:
    try:
        return None if raw is None else Run.from_bytes(raw, path)
    except Invalid:
        return None
