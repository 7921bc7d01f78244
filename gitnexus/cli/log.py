"""`git nexus log`: show the history of the state: who changed what, and why."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.state.diary import read_state_log
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import format_columns, print_answer, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("log", cls=NexusCommand)
@click.argument("path", required=False)
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many entries.")
@with_nexus
def show_state_log(nexus: "Nexus", path: str | None, limit: int) -> None:
    """Show the history of the state: who changed what, and why.

    PATH limits it to one file or folder, such as memory or backlog/T12.json; .nexus/memory means the same.
    """
    entries, more = read_state_log(nexus.state, _state_path(nexus, path) if path else None, limit)
    rows = [[e.commit[:9], e.at[:10] + " " + e.at[11:16], one_line(e.author, 24), one_line(e.why, 90)] for e in entries]
    tail = [f"… {more} more: git nexus log -n {limit + more}"] if more else []
    print_answer(
        {
            "entries": [
                {"commit": e.commit, "at": e.at, "author": e.author, "why": e.why, "files": e.files} for e in entries
            ],
            "more": more,
        },
        "\n".join([format_columns(rows, indent=""), *tail]) if rows else "No entries.",
        nexus.described,
    )


def _state_path(nexus: "Nexus", path: str) -> str | None:
    """Return a path of the state, given as such or as a file below `.nexus/`; None means the whole state."""
    start = start_folder(current_invocation(click.get_current_context()))
    root = nexus.repo.folder / ".nexus"
    meant = Path(os.path.normpath(start / path))
    if meant.is_relative_to(root):
        return str(meant.relative_to(root)) if meant != root else None
    return path.removeprefix("./").removeprefix(".nexus/").rstrip("/")
