"""Asks the user at the terminal a question of a run."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.ui.approval_prompt import ask_line

if TYPE_CHECKING:
    from gitnexus.runs.open_run import OpenRun


def ask_person(run: "OpenRun", question: str, text: str) -> str:
    """Ask the user a question of a node."""
    click.echo(f"{run.record.id} {question} asks: {one_line(text, 1000)}", err=True)
    return ask_line("Your answer (empty: later):") or ""
