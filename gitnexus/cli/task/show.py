"""Tasks drawn for people."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.output import columns, counted

if TYPE_CHECKING:
    from gitnexus.backlog import BacklogTask
    from gitnexus.backlog.look import View
    from gitnexus.backlog.tasks import Tasks

_COLOURS = {"active": "yellow", "blocked": "red", "done": "green", "cancelled": "bright_black"}


def screen(found: "Sequence[View]", tasks: "Tasks", limit: int | None, *, filtered: bool) -> str:
    """Return the list with a last line of counts."""
    rows = [_row(view) for view in found[:limit]]
    closed = sum(not task.is_open for task in tasks)
    ready = sum(view.ready for view in found)
    none = "no task is like that" if filtered else "no task is open"
    said = [f"{counted(len(found), 'task')}, {ready} ready" if found else none]
    said += [f"{len(found) - len(rows)} more: -n {len(found)} shows them"] if len(found) > len(rows) else []
    said += [f"{closed} closed, --all shows them"] if closed and not filtered else []
    said += ["git nexus task add TITLE adds one"] if not tasks.ids else []
    return "\n".join([*([columns(rows, indent="")] if rows else []), "; ".join(said)])


def sheet(view: "View", plain: Mapping[str, Any]) -> str:
    """Return one task with all that is known about it."""
    task = view.task
    rows = [
        ["status", _status(task.status) + _standing(view)],
        ["priority", task.priority],
        ["type", task.type + (f", below {task.parent_id}" if task.parent_id else "")],
        ["labels", _line(task.labels)],
        ["files", _line(task.files)],
        ["depends", _line(task.depends)],
        ["waits", "; ".join(f"{one_line(wait.ref, 80)} {one_line(wait.why)}" for wait in view.waits)],
        ["below it", _line(plain["children"])],
        ["needed by", _line(plain["dependents"])],
        ["related", "; ".join(_relation(one) for one in task.relates)],
        ["phase", one_line(task.phase or "")],
        ["size", one_line(task.size or "")],
        [
            "made",
            one_line(task.created_at or "") + _changed(task),
        ],
        ["ended", one_line(task.completed_at or task.cancelled_at or "")],
        ["because", one_line(task.cancellation_reason or "")],
        ["once", _line(task.aliases)],
    ]
    parts = [click.style(f"{task.id}  {one_line(task.title)}", bold=True)]
    parts.append(columns([row for row in rows if row[1]], indent=""))
    if task.description:
        parts.append("\n" + visible(task.description).strip())
    for title, items in (("Done when", task.acceptance), ("Notes", task.notes)):
        if items:
            parts.append(f"\n{title}:\n" + "\n".join(f"- {visible(item).strip()}" for item in items))
    return "\n".join(parts)


def choice(plain: Mapping[str, Any]) -> str:
    """Return what to do next, why, and what else there is."""
    best = plain["task"]
    if best is None:
        return "\n".join(["Nothing can be started now.", *(f"  {one_line(why)}" for why in plain["why"])])
    lines = [click.style(f"{best['id']}  {one_line(best['title'])}", bold=True)]
    lines += [f"  {why}" for why in plain["why"]]
    lines += ["Then:"] if plain["alternatives"] else []
    lines += [
        f"  {one['id']}  {one_line(one['title'], 80)} ({'; '.join(one['why'][1:])})" for one in plain["alternatives"]
    ]
    return "\n".join([*lines, f"Take it: git nexus task claim {best['id']}"])


def _row(view: "View") -> list[str]:
    task = view.task
    title = "  " * view.depth + one_line(task.title, 80)
    labels = " ".join(one_line(label, 20) for label in task.labels[:4])
    tail = [_mark(view), click.style(labels, fg="cyan") if labels else ""]
    return [task.id, _status(task.status), task.priority, title, "  ".join(filter(None, tail))]


def _mark(view: "View") -> str:
    if view.holder is not None:
        return f"claimed by {one_line(view.holder, 30)}"
    if view.waits:
        more = " …" if len(view.waits) > 3 else ""
        return f"waits for {', '.join(one_line(wait.ref, 40) for wait in view.waits[:3])}{more}"
    return click.style("ready", fg="green") if view.ready else ""


def _standing(view: "View") -> str:
    task = view.task
    said = ", ready" if view.ready else ""
    said += f", {one_line(task.blocked_by)}" if task.blocked_by and task.status == "blocked" else ""
    if view.holder is not None and task.claim is not None:
        said += f", claimed by {one_line(view.holder, 60)} until {one_line(task.claim.until, 30)}"
    return said


@lru_cache(maxsize=8)
def _status(status: str) -> str:
    return click.style(status, fg=_COLOURS.get(status))


def _line(items: Sequence[str]) -> str:
    return ", ".join(one_line(item, 120) for item in items)


def _changed(task: "BacklogTask") -> str:
    return f", changed {one_line(task.updated_at)}" if task.updated_at and task.updated_at != task.created_at else ""


def _relation(one: Any) -> str:
    reason = f" ({one_line(one.reason, 120)})" if one.reason else ""
    return f"{one.type} {one_line(one.task_id, 80)}{reason}"
