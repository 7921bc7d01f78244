"""Options that `git nexus task add` and `update` take."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
_PRIORITIES = click.Choice(["critical", "high", "medium", "low"])
_KINDS = click.Choice(["epic", "task", "subtask"])


def repeatable_option(name: str, field: str, metavar: str, words: str) -> Callable[[F], F]:
    """Return an option that may be given more than once."""
    return click.option(name, field, metavar=metavar, multiple=True, help=words)


def with_task_options(command: F) -> F:
    """Add the options that `add` and `update` have in common."""
    for option in (
        click.option("--size", metavar="WORD", help="How large it is: small, medium or large."),
        click.option("--phase", metavar="NAME", help="The phase of the project that it belongs to."),
        click.option("--blocked-by", metavar="TEXT", help="What blocks it; sets its status to blocked."),
        repeatable_option("--note", "notes", "TEXT", "A note about the work; may be repeated."),
        repeatable_option("--acceptance", "acceptance", "TEXT", "A condition for being done; may be repeated."),
        click.option("--type", type=_KINDS, help="What kind of task it is."),
        click.option("--priority", type=_PRIORITIES, help="How much it matters."),
        click.option("--parent", metavar="TASK", help="The task that it is a part of."),
        repeatable_option(
            "--depends", "depends", "REF", "A task that must be done before: T12, or name:T12; may be repeated."
        ),
        repeatable_option("--file", "files", "PATH", "A file that it concerns; may be repeated."),
        repeatable_option("--label", "labels", "WORD", "A label; may be repeated."),
        click.option("--description", metavar="TEXT", help="The background that is needed to do it."),
    ):
        command = option(command)
    return command
