"""The steps after an answer to a run: select its actions, write the checkpoint, continue the run."""

import contextlib
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import Busy, Conflict, Failed, NexusError
from gitnexus.cli.run.interruption import interruptible_run
from gitnexus.cli.run.questions import ask_person
from gitnexus.events.fold import POLICY
from gitnexus.runs.background import follow_background_driver, start_background_driver
from gitnexus.runs.contradictions import settling_commands
from gitnexus.runs.drive import actions_in_order, drive_run
from gitnexus.runs.list import can_end, goes_on_by_itself, may_go_on
from gitnexus.runs.model import ENDED
from gitnexus.runs.record import refresh_run_record
from gitnexus.ui.approval_prompt import is_person_at_terminal
from gitnexus.ui.output import print_note
from gitnexus.ui.runs import exit_with_run_status, print_agent_message, review_action

if TYPE_CHECKING:
    from gitnexus.cli.run.options import Then
    from gitnexus.events.view import RunView
    from gitnexus.runs.open_run import OpenRun


def choose_actions(run: "OpenRun", actions: tuple[str, ...]) -> list[str]:
    """Return the named actions, or all waiting ones. Raises: Failed if none waits."""
    open_ = ("waiting", "unknown", "proposed", "approved")
    waits = [name for name, one in actions_in_order(run.view()) if one.status in open_]
    settled = not waits or run.view().status in ENDED
    if not actions and settled and not can_end(run) and not _is_record_behind(run):
        for action in run.view().disputed:
            raise Conflict(
                f"nothing of {run.record.id} waits for an answer, but two clones decided differently about {action}",
                hint=settling_commands(run.record.id, action, run.view()),
            )
        raise Failed(f"nothing of {run.record.id} waits for an answer", fix=f"git nexus replay {run.record.id}")
    return list(actions) or ([] if run.view().status in ENDED else waits)


def find_last_answer(run: "OpenRun") -> tuple[str, bool]:
    """Return the action that a person answered last, and whether the answer was yes; "" if nobody answered."""
    for event in reversed(list(run.log.read())):
        if event.kind in ("permission.granted", "permission.denied") and event.body["by"] != POLICY:
            return str(event.body["action"]), event.kind == "permission.granted"
    return "", False


def continue_run(run: "OpenRun", then: "Then") -> None:
    """Let a run go on that was answered, until it needs a person again or is over.

    One that only ends, or needs neither a program nor a model, does so here; any other goes on in a process of its own,
    or here with "wait". With "hold" it does nothing more than end.
    """
    if run.record.session:
        from gitnexus.toolgate.approvals import finish_if_nothing_waits

        finish_if_nothing_waits(run)
    elif (ends := can_end(run)) or (then != "hold" and goes_on_by_itself(run)):
        with contextlib.suppress(Busy):  # who came first brings it to its end
            drive_run(run, print_agent_message, None, ends=ends)
    elif _is_record_behind(run):
        refresh_run_record(run)
    elif then == "hold":
        pass
    elif then == "wait":
        follow_run(run)
    elif may_go_on(run):
        start_background_driver(run)
        print_note(f"{run.record.id} continues in the background: git nexus runs shows it")


def follow_run(run: "OpenRun", network: Any = None, *, asks: bool = True) -> "RunView":
    """Show what a run does until it needs a person or is over, and drive it where no process of its own does."""
    there = asks and is_person_at_terminal()
    follow_background_driver(run, lambda line: click.echo(line, err=True))
    with interruptible_run(run):
        return drive_run(
            run, print_agent_message, review_action if there else None, network, ask_person if there else None
        )


def exit_if_followed(run: "OpenRun", then: "Then") -> None:
    """Leave with the status of a run that was followed."""
    if then == "wait":
        exit_with_run_status(run.view())


def _is_record_behind(run: "OpenRun") -> bool:
    """Return True if a command was killed after the log said that the run ended, and before its record did."""
    return not run.record.session and run.record.status not in ENDED and run.view().status in ENDED


def checkpoint_decision(run: "OpenRun") -> None:
    """Write an answer to the run's ref, so that the next sync distributes it, whoever drives the run."""
    if not run.record.session:
        with contextlib.suppress(NexusError):
            run.write_checkpoint()
