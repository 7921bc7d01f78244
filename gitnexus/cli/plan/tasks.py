"""`git nexus plan tasks`: turn the decisions into tasks."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.cycle import call
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import answer_as_stored, count_of, format_columns, start_folder
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession


@click.command("tasks", cls=NexusCommand)
@click.argument("file", metavar="[FILE|-]", required=False)
@click.option("--preview", is_flag=True, help="Show what would be added, and add nothing.")
@click.option("--partial", is_flag=True, help="Continue although some questions are undecided.")
@with_session
def turn_plan_into_tasks(session: "OpenSession", file: str | None, preview: bool, partial: bool) -> None:
    """Turn the decisions into tasks.

    FILE contains drafts, a JSON list of objects as the tool plan_tasks takes them, or is - for stdin. Without it there
    is one draft for each decided question that has no task yet. Drafts that change the same file become one task. A
    task whose result must be run or read by somebody gets a second one that checks it.
    """
    drafts = {} if file is None else {"drafts": _read_drafts(file)}
    found = call(session, "plan_tasks", {**drafts, "preview": preview, "partial": partial})
    answer_as_stored(found, _format_added_tasks(found, "draft" if file else "question"), session.described)


def _read_drafts(file: str) -> Any:
    name = "stdin" if file == "-" else one_line(file)
    try:
        path = start_folder(current_invocation(click.get_current_context())) / file
        return parse_json(sys.stdin.buffer.read() if file == "-" else path.read_bytes())
    except OSError as exc:
        raise NotFound(f"{name} cannot be read: {exc.strerror}", hint="name a file of drafts, or - for stdin") from exc
    except Invalid as exc:
        raise Invalid(f"{name} is {exc.message}", hint="it should be a JSON list of drafts") from exc


def _format_added_tasks(found: Mapping[str, Any], noun: str) -> str:
    rows = []
    for task in found["added"]:
        after = f" (after {', '.join(map(str, task['deps']))})" if task["deps"] else ""
        rows.append([str(task["id"]), one_line(task.get("owner", "anyone"), 20), one_line(task["title"], 90) + after])
        rows += [["", "", "→ " + one_line(note, 160)] for note in _task_notes(found, task["id"], noun)]
    preview = found.get("preview", False)
    count = count_of(len(found["added"]), "task")
    head = f"{'Would add' if preview else 'Added'} {count}:" if rows else "Nothing to add."
    kept = [
        f"Question {row['issue']} has tasks already: {', '.join(map(str, row['tasks']))}." for row in found["skipped"]
    ]
    tail = ["Nothing is written yet." if preview else "Next: git nexus cycle show"] if rows else []
    return "\n".join([head, *([format_columns(rows)] if rows else []), *kept, *tail])


def _task_notes(found: Mapping[str, Any], task: int, noun: str) -> list[str]:
    """Return the reasons for the form of a task."""
    names = ", ".join(row["id"] for row in found["exceptions"] if row["task"] == task)
    one = [
        f"{noun}s {', '.join(map(str, row['of']))} in one ({names}): {row['why']}"
        for row in found["merged"]
        if row["task"] == task
    ]
    return [*(one or filter(None, [names])), *(row["why"] for row in found["paired"] if row["by"] == task)]
