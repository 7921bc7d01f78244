"""Prints rows of tasks, the progress of indexing, and notes about unreadable projects."""

import sys
from typing import Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.output import format_columns, print_note


def format_task_rows(found: list[dict[str, Any]]) -> str:
    """Return tasks as a table: reference, status, title."""
    return format_columns(
        [[one["ref"], one["status"] or "?", one_line(one["title"] or one.get("reason") or "", 80)] for one in found],
        indent="",
    )


def print_left_out(told: dict[str, Any]) -> None:
    """List the projects that could not be read, so that nobody assumes that their tasks are deleted."""
    for one in told.get("unreadable", ()):
        print_note(f"left out: {one['project']} cannot be read: {one_line(one['reason'], 200)}")


def progress_reporter() -> Any:
    """Return a function that shows progress on a terminal and nothing elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(at: int, total: int, name: str) -> None:
        if total > 3:
            end = "\n" if at == total else ""
            click.echo(f"\rindexing {at} of {total}: {one_line(name, 40)}\x1b[K{end}", err=True, nl=False)

    return show
