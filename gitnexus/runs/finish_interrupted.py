"""Completes what a killed command left unfinished in a run's log, branch or record."""

import contextlib

from gitnexus.base.errors import NexusError
from gitnexus.runs.actions import approve
from gitnexus.runs.drive import drive_run
from gitnexus.runs.list import can_end
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.record import refresh_run_record
from gitnexus.state import State


def finish_begun(state: State, run: Run) -> Run:
    """Complete what a killed `approve` left unfinished, as the log records it; return the run's record.

    Commits a patch whose commit had begun, ends a run with nothing left to do, and updates the record. Starts no agent
    and asks nobody. What cannot be completed is left as it is.
    """
    open_run = OpenRun(state, run)
    if run.status in ENDED or run.session or not open_run.log.path.exists() or open_run.is_driven():
        return run
    with contextlib.suppress(NexusError):
        for name, one in open_run.view().actions.items():
            if one.status == "unknown" and one.kind == "patch":
                approve.finish_interrupted(open_run, name)
        if can_end(open_run):
            drive_run(open_run, lambda said: None, None, ends=True)
        elif open_run.view().status in ENDED:
            refresh_run_record(open_run)
    return open_run.record
