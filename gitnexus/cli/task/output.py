"""Prints a task after a change, its status in colour, and notes about unreadable tasks."""

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
    """Print a task after a change, with a sentence about the change."""
    answer_as_stored(lambda: {"task": opened.named(task.shown())}, words, lambda: opened.project)


def print_closed_task(opened: "OpenBacklog", task: "BacklogTask", words: str, others: list[str]) -> None:
    """Print a closed task, and the tasks that can start now or that wait for it in vain."""
    done = task.status == "done"
    if others:
        words += f"\nNow ready: {', '.join(others)}" if done else format_waiting(others)
    payload = {"nowReady" if done else "waiting": others}
    answer_as_stored(lambda: {"task": opened.named(task.shown()), **payload}, words, lambda: opened.project)


def format_waiting(others: list[str]) -> str:
    """Return the line about tasks that wait for a cancelled one."""
    return f"\nStill waiting for it: {', '.join(others)} (drop it with --remove-depends)"


@lru_cache(maxsize=8)
def format_status(status: str) -> str:
    """Return a status in its colour."""
    return click.style(status, fg=_STATUS_COLOURS.get(status))


def print_broken_tasks(tasks: "Tasks") -> None:
    """Print a note about each task that cannot be parsed, with the reason."""
    for why in tasks.broken.values():
        print_note(f"left out: {why}")
