"""`git nexus task add`, `update` and `relate`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitnexus.base.text import one_line
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer

if TYPE_CHECKING:
    from gitnexus.app.backlog import OpenBacklog
    from gitnexus.backlog import BacklogTask

F = TypeVar("F", bound=Callable[..., Any])
_PRIORITY = click.Choice(["critical", "high", "medium", "low"])
_KIND = click.Choice(["epic", "task", "subtask"])
_STATUS = click.Choice(["pending", "active", "blocked", "done", "cancelled"])
_RELATION = click.Choice(["relates-to", "spawned-from", "deferred-to", "supersedes", "duplicates"])


def _many(name: str, field: str, metavar: str, words: str) -> Callable[[F], F]:
    return click.option(name, field, metavar=metavar, multiple=True, help=words)


def _shared(command: F) -> F:
    """Add the options that `add` and `update` have in common."""
    for option in (
        click.option("--size", metavar="WORD", help="How large it is: small, medium or large."),
        click.option("--phase", metavar="NAME", help="The phase of the project that it belongs to."),
        click.option("--blocked-by", metavar="TEXT", help="What stands in the way; makes it blocked."),
        _many("--note", "notes", "TEXT", "What was found out on the way; may be repeated."),
        _many("--acceptance", "acceptance", "TEXT", "How one sees that it is done; may be repeated."),
        click.option("--type", type=_KIND, help="What kind of task it is."),
        click.option("--priority", type=_PRIORITY, help="How much it matters."),
        click.option("--parent", metavar="TASK", help="The task that it is a part of."),
        _many("--depends", "depends", "REF", "A task that must be done before: T12, or name:T12; may be repeated."),
        _many("--file", "files", "PATH", "A file that it is about; may be repeated."),
        _many("--label", "labels", "WORD", "A word to find it by; may be repeated."),
        click.option("--description", metavar="TEXT", help="What one must know to do it."),
    ):
        command = option(command)
    return command


@click.command("add", cls=NexusCommand)
@click.argument("title")
@_shared
@with_backlog
def add(opened: "OpenBacklog", /, **given: Any) -> None:
    """Add a task.

    TITLE is one line of at most 120 characters. The new id is printed; ids are never given twice.
    """
    from gitnexus.backlog.add import add as added
    from gitnexus.backlog.fields import Fields

    task = added(opened.backlog, Fields.of(given))
    _told(opened, task, f"Added {task.id}: {one_line(task.title)}")


@click.command("update", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--title", metavar="TEXT", help="What is to be done, in one line.")
@click.option("--status", type=_STATUS, help="Its new status; done and cancelled as with complete and cancel.")
@_shared
@click.option("--no-parent", is_flag=True, help="Make it a part of nothing.")
@_many("--remove-label", "less_labels", "WORD", "A label to take away; may be repeated.")
@_many("--remove-file", "less_files", "PATH", "A file to take away; may be repeated.")
@_many("--remove-acceptance", "less_acceptance", "TEXT", "A criterion to take away; may be repeated.")
@_many("--remove-depends", "less_depends", "REF", "A dependency to drop; may be repeated.")
@with_backlog
def update(opened: "OpenBacklog", /, task: str, no_parent: bool, **given: Any) -> None:
    """Change what is said about a task.

    Texts are replaced; labels, files, acceptance criteria, notes and dependencies are added to those that are there.
    """
    from gitnexus.backlog.fields import Fields
    from gitnexus.backlog.update import update as updated

    closing = {"done": "task complete", "cancelled": "task cancel"}  # by whatever word: it needs what these need
    there, task_id = opened.reach(task, closing.get(given["status"] or "", "task update"))
    for name in ("depends", "less_depends"):
        given[name] = tuple(opened.seen_from(there, ref) for ref in given[name])
    less = Fields.of({name.removeprefix("less_"): value for name, value in given.items() if name.startswith("less_")})
    after = updated(there.backlog, task_id, Fields.of(given), less, to_root=no_parent)
    _told(there, after, f"{opened.called(there, after.id)} is {after.status}: {one_line(after.title)}")


@click.command("relate", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.argument("other", metavar="OTHER")
@click.option(
    "--type", "kind", type=_RELATION, default="relates-to", show_default=True, help="How they belong together."
)
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--remove", is_flag=True, help="Take the relation away.")
@with_backlog
def relate(opened: "OpenBacklog", task: str, other: str, kind: Any, reason: str | None, remove: bool) -> None:
    """Tie a task to OTHER; neither waits for the other.

    OTHER may be a task of another project.
    """
    from gitnexus.backlog.relate import relate as related
    from gitnexus.backlog.relate import untie

    there, task_id = opened.reach(task, "task relate")
    other, name = opened.seen_from(there, other), opened.called(there, task_id)
    if remove:
        _told(there, untie(there.backlog, task_id, other), f"{name} is no longer related to {other}")
    else:
        _told(there, related(there.backlog, task_id, other, kind, reason), f"{name} {_PHRASES[kind]} {other}")


_PHRASES = {
    "relates-to": "is related to",
    "spawned-from": "came out of",
    "deferred-to": "is deferred to",
    "supersedes": "supersedes",
    "duplicates": "duplicates",
}


def _told(opened: "OpenBacklog", task: "BacklogTask", words: str) -> None:
    answer(lambda: {"task": opened.named(task.shown())}, words, lambda: opened.project)
