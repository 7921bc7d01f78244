"""Prints the answer of a command: JSON with --json, else text."""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.app import open_nexus
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.commands import CommandInvocation, current_invocation

if TYPE_CHECKING:
    from gitnexus.app import Nexus

P = ParamSpec("P")
R = TypeVar("R")


def start_folder(asked: CommandInvocation) -> Path:
    """Return the folder that the command works in, as set by -C."""
    folder = Path.cwd()
    for directory in asked.directories:
        folder = folder / expand_home(directory)
    return folder


def print_answer(
    payload: dict[str, Any] | Callable[[], dict[str, Any]],
    text: str | Callable[[], str],
    project: Callable[[], dict[str, str] | None] | None = None,
) -> None:
    """Print the payload as JSON with --json, else the text.

    Callables are evaluated only for the format that is printed.
    """
    asked = current_invocation(click.get_current_context())
    if asked.as_json:
        from gitnexus.ui.envelope import success_document

        told = payload() if callable(payload) else payload
        click.echo(success_document(asked.command, project() if project else None, told))
        return
    words = text() if callable(text) else text
    if words:
        click.echo(words)


def answer_as_stored(
    payload: dict[str, Any] | Callable[[], dict[str, Any]],
    text: str | Callable[[], str],
    project: Callable[[], dict[str, str] | None] | None = None,
) -> None:
    """Print the result of a change as stored, so that a secret among the arguments is not repeated."""
    from gitnexus.state.secrets import as_stored, reason_without_secrets  # who changes something has it loaded

    print_answer(
        lambda: as_stored(payload() if callable(payload) else payload),
        lambda: reason_without_secrets(text() if callable(text) else text),
        project,
    )


def print_note(text: str) -> None:
    """Print a note on stderr, beside the answer."""
    click.echo(one_line(text, 400), err=True)


def with_nexus(command: "Callable[Concatenate[Nexus, P], R]") -> Callable[P, R]:
    """Pass the open project of the current folder to a command, with hand edits committed."""

    def opened(*args: P.args, **kwargs: P.kwargs) -> R:
        nexus = open_nexus(start_folder(current_invocation(click.get_current_context())))
        try:
            for line in nexus.notices:
                print_note(line)
            try:
                return command(nexus, *args, **kwargs)
            finally:
                for path in dict.fromkeys(nexus.state.snapshot.unreadable):
                    print_note(f"{path} is missing or damaged in git: git nexus doctor --fix repairs what it can")
        finally:
            nexus.close()

    return update_wrapper(opened, command)


def with_pygit2(command: Callable[P, R]) -> Callable[P, R]:
    """Make a long-running command open repositories with pygit2; it is placed above `with_nexus`."""

    def chosen(*args: P.args, **kwargs: P.kwargs) -> R:
        from gitnexus.git.object_access import choose_pygit2_for_process

        choose_pygit2_for_process()
        return command(*args, **kwargs)

    return update_wrapper(chosen, command)


def format_columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Return rows as aligned columns; colour codes have no width."""
    widths = [max(_visible_width(row[i]) for row in rows) for i in range(len(rows[0]) - 1)] if rows else []
    lines = []
    for row in rows:
        cells = [cell + " " * (width - _visible_width(cell)) for cell, width in zip(row[:-1], widths, strict=True)]
        lines.append((indent + "  ".join([*cells, row[-1]])).rstrip())
    return "\n".join(lines)


def _visible_width(cell: str) -> int:
    return len(click.unstyle(cell)) if "\x1b" in cell else len(cell)


def count_of(number: int, word: str) -> str:
    """Return `1 task` or `2 tasks`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
