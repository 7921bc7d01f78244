"""Runs a backlog tool on another project's task, after the permission check and the audit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitnexus.backlog import Backlog
from gitnexus.backlog.reference import TaskReference, parse_single_reference
from gitnexus.base.tool import Tool
from gitnexus.git import Repo
from gitnexus.projects.closing import name_tasks_after_closing
from gitnexus.projects.open_backlog import OpenBacklog, open_other_backlog
from gitnexus.projects.open_project import describe_project

# What each tool that names a task does to it; `task` in these is the other project's.
_OPERATIONS = {
    "backlog_show": "show",
    "backlog_update": "task update",
    "backlog_complete": "task complete",
    "backlog_claim": "task claim",
}
_CLOSING = {"done": "task complete", "cancelled": "task cancel"}  # by whatever word: it needs what these need


def run_backlog_tool(tool: Tool[Backlog], backlog: Backlog, repo: Repo, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool on the project's own backlog, or on that of the project of its task.

    Raises: BadReference, Invalid, ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
    """
    reference = parse_single_reference(given["task"]) if tool.name in _OPERATIONS else None
    if reference is None or reference.project is None or backlog.elsewhere.own(reference.project):
        answer = tool.run(backlog, given)
        return {
            **answer,
            **_effects_of_closing(
                tool, given, answer, OpenBacklog(backlog, lambda: describe_project(repo), repo.folder)
            ),
        }
    return _run_elsewhere(tool, reference, repo, given)


def _run_elsewhere(
    tool: Tool[Backlog], reference: TaskReference, repo: Repo, given: Mapping[str, Any]
) -> dict[str, Any]:
    operation = _CLOSING.get(given.get("status", ""), _OPERATIONS[tool.name])
    there, task = open_other_backlog(Path(repo.folder), reference, operation)
    try:
        refs = {
            name: [_reference_seen_there(repo, ref) for ref in given[name]]
            for name in ("depends", "remove_depends")
            if name in given
        }
        answer = tool.run(there.backlog, {**given, **refs, "task": task})
        effects = _effects_of_closing(tool, given, answer, there, Path(repo.folder))
        return {**answer, "task": there.named(answer["task"]), **effects}
    finally:
        there.close()


def _effects_of_closing(
    tool: Tool[Backlog], given: Mapping[str, Any], answer: dict[str, Any], there: OpenBacklog, start: Path | None = None
) -> dict[str, list[str]]:
    """Return the tasks that became ready, or wait in vain, because a task was closed; those of other projects too.

    If `start` belongs to another project (the caller's), each task is named with its project.
    """
    closes = tool.name == "backlog_update" and given.get("status") in _CLOSING
    if tool.name != "backlog_complete" and not closes:
        return {}
    task = there.backlog.tasks().task(answer["task"]["id"])
    name = "nowReady" if task.status == "done" else "waiting"
    found = name_tasks_after_closing(there, [task], start)
    return {name: found} if found or name in answer else {}


def _reference_seen_there(repo: Repo, text: str) -> str:
    """Return a reference as the other project must store it: a bare id gets the name of this project."""
    reference = parse_single_reference(text)
    return f"{describe_project(repo)['name']}:{reference.task}" if reference.project is None else text
