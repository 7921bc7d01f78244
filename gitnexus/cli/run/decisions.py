"""The steps after an answer to a run: select its actions, write the checkpoint, continue the run."""

import contextlib
from typing import TYPE_CHECKING

from gitnexus.base.errors import Busy, Failed, NexusError
from gitnexus.runs.drive import actions_in_order, drive_run
from gitnexus.runs.list import can_end, goes_on_by_itself
from gitnexus.runs.model import ENDED
from gitnexus.runs.record import refresh_run_record
from gitnexus.ui.runs import print_agent_message

if TYPE_CHECKING:
    from gitnexus.runs.open_run import OpenRun


def choose_actions(run: "OpenRun", actions: tuple[str, ...]) -> list[str]:
    """Return the named actions, or all waiting ones. Raises: Failed if none waits."""
    open_ = ("waiting", "unknown", "proposed", "approved")
    waits = [name for name, one in actions_in_order(run.view()) if one.status in open_]
    settled = not waits or run.view().status in ENDED
    if not actions and settled and not can_end(run) and not _is_record_behind(run):
        raise Failed(f"nothing of {run.record.id} waits for an answer", fix=f"git nexus replay {run.record.id}")
    return list(actions) or ([] if run.view().status in ENDED else waits)


def continue_run(run: "OpenRun") -> None:
    """End a run that only waited for answers, and continue a workflow that starts no program and asks no model.

    A run whose agent still has work to do needs `resume`.
    """
    if run.record.session:
        from gitnexus.toolgate.approvals import finish_if_nothing_waits

        finish_if_nothing_waits(run)
    elif (ends := can_end(run)) or goes_on_by_itself(run):
        with contextlib.suppress(Busy):  # who came first brings it to its end
            drive_run(run, print_agent_message, None, ends=ends)
    elif _is_record_behind(run):
        refresh_run_record(run)


def _is_record_behind(run: "OpenRun") -> bool:
    """Return True if a command was killed after the log said that the run ended, and before its record did."""
    return not run.record.session and run.record.status not in ENDED and run.view().status in ENDED


def checkpoint_decision(run: "OpenRun") -> None:
    """Write an answer to the run's ref, so that the next sync distributes it, whoever drives the run."""
    if not run.record.session:
        with contextlib.suppress(NexusError):
            run.write_checkpoint()
