"""Updates the record of a run on the state ref from the run's log."""

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.events.view import RunView
from gitnexus.git.branches import tip_of_ref
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.store import update_run


def refresh_run_record(run: OpenRun) -> RunView:
    """Update the record of a run from its log; return its view. Raises: NexusError."""
    view = run.view()
    head = _last_commit(run, view)
    over = view.status in ENDED

    def change(before: Run) -> Run:
        if before.status == "landed" and (over or not run.foreign):
            return before  # its work is on a branch; a claim that the run is open again does not count
        if _went_on_elsewhere(view):
            return before
        ended = (before.ended or format_timestamp(utc_now())) if over else ""
        return before.changed(status=view.status, head=head if head != before.base else "", ended=ended)

    run.record = update_run(run.state, run.record.id, change, f"runs: {run.record.id} is {view.status}")
    return view


def reset_run_record(run: OpenRun) -> None:
    """Set the record of a run to what its log says: a fetched record of a run whose log is here is only a claim.

    Raises: NexusError.
    """
    view = run.view()
    head = _last_commit(run, view)

    def change(before: Run) -> Run:
        if _went_on_elsewhere(view):
            return before
        ended = (before.ended or format_timestamp(utc_now())) if view.status in ENDED else ""
        head_now = head if head != before.base else ""
        return before.changed(status=view.status, head=head_now, ended=ended, landed=view.landed or before.landed)

    run.record = update_run(run.state, run.record.id, change, f"runs: {run.record.id} is {view.status}")


def _last_commit(run: OpenRun, view: RunView) -> str:
    """Return the tip of the run's branch; where that was cleaned up, the last commit that its log names."""
    return tip_of_ref(run.repo, run.branch) or (view.commits[-1] if view.commits else "")


def _went_on_elsewhere(view: RunView) -> bool:
    """True if what was denied in this log was settled as approved: another log tells how the run ended."""
    return any(one.status == "denied" and one.settled == "approved" for one in view.actions.values())
