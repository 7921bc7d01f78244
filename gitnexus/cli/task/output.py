"""A task after a change, its status in colour, and notes about tasks that cannot be read."""

from functools import lru_cache
from typing import TYPE_CHECKING

import click

from gitnexus.ui.output import answer_as_stored, print_note

if TYPE_CHECKING:
    from gitnexus.backlog import BacklogTask
    from gitnexus.backlog.tasks import Tasks
    from gitnexus.projects.open_backlog import OpenBacklog

_STATUS_COLOURS = {"active": "yellow", "blocked": "red", "done": "green", "cancelled": "bright_black"}


def print_task(opened: "OpenBacklog", task: "BacklogTask", words: str) -> None:
    """Print a task after a change, with what was done in words."""
    answer_as_stored(lambda: {"task": opened.named(task.shown())}, words, lambda: opened.project)


def print_closed_task(opened: "OpenBacklog", task: "BacklogTask", words: str, others: list[str]) -> None:
    """Print a task that was closed, and which others can be started now, or wait for it in vain."""
    done = task.status == "done"
    if others:
        words += f"\nNow ready: {', '.join(others)}" if done else format_waiting(others)
    payload = {"nowReady" if done else "waiting": others}
    answer_as_stored(lambda: {"task": opened.named(task.shown()), **payload}, words, lambda: opened.project)


def format_waiting(others: list[str]) -> str:
    """Return the line about tasks that wait for one which will never be done."""
    return f"\nStill waiting for it: {', '.join(others)} (drop it with --remove-depends)"


@lru_cache(maxsize=8)
def format_status(status: str) -> str:
    """Return a status in its colour."""
    return click.style(status, fg=_STATUS_COLOURS.get(status))


def print_broken_tasks(tasks: "Tasks") -> None:
    """Tell as notes which tasks cannot be read, and why."""
    for why in tasks.broken.values():
        print_note(f"left out: {why}")
