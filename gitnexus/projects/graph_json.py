"""Answers dependency queries over all projects as JSON for commands and tools."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gitnexus.backlog.model import CLOSED
from gitnexus.backlog.reference import parse_reference
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.projects.graph_refresh import Progress, with_network
from gitnexus.projects.network import TaskNetwork, blocking_reasons
from gitnexus.projects.open_registry import open_standpoint
from gitnexus.projects.operations import Operation
from gitnexus.projects.resolve import LocatedTask
from gitnexus.projects.standpoint import Standpoint


def locate_readable_task(standpoint: Standpoint, text: str, operation: Operation) -> LocatedTask:
    """Return a readable task of one project. Raises: BadReference, Invalid, PermissionDenied, …."""
    reference = parse_reference(text)
    if reference.is_everywhere:
        raise Invalid(f"{text} means the tasks of every project, one is wanted here", hint="name the project")
    at = standpoint.locate(reference)
    standpoint.require_permission(operation, at.project, at.task)
    return at


def dependencies_json(
    standpoint: Standpoint, located: LocatedTask, progress: Progress | None = None, *, both_ways: bool = False
) -> dict[str, Any]:
    """Return what a task depends on and, with `both_ways`, what depends on it. Raises: NotFound."""

    def look(network: TaskNetwork) -> dict[str, Any]:
        row = network.row(located)
        found = network.dependencies(row)
        why = blocking_reasons(row, found)
        told = {
            **_task_fields(located),
            "dependencies": found,
            "blocked": bool(why) or row.status == "blocked",
            "blockedBy": why,
        }
        return network.with_left_out({**told, "dependents": network.dependents(row)}) if both_ways else told

    return with_network(standpoint, look, progress)


def dependents_json(standpoint: Standpoint, located: LocatedTask, progress: Progress | None = None) -> dict[str, Any]:
    """Return the tasks that depend on one. Raises: NotFound."""

    def look(network: TaskNetwork) -> dict[str, Any]:
        return network.with_left_out({**_task_fields(located), "dependents": network.dependents(network.row(located))})

    return with_network(standpoint, look, progress)


def blocking_json(
    standpoint: Standpoint, located: LocatedTask, progress: Progress | None = None, *, closed_too: bool = False
) -> dict[str, Any]:
    """Return all tasks that a task blocks. Raises: NotFound."""

    def look(network: TaskNetwork) -> dict[str, Any]:
        found = network.waiting_tasks(network.row(located), closed_too=closed_too)
        told = {"taskId": located.task_id, "ref": located.ref, "impact": len(found), "tasks": found}
        return network.with_left_out(told)

    return with_network(standpoint, look, progress)


def critical_path_json(
    standpoint: Standpoint, located: LocatedTask | None, progress: Progress | None = None, *, closed_too: bool = False
) -> dict[str, Any]:
    """Return the longest chain of open tasks, of all or up to one. Raises: Cyclic, NotFound."""

    def look(network: TaskNetwork) -> dict[str, Any]:
        path = network.critical_path(network.row(located) if located else None, closed_too=closed_too)
        return network.with_left_out({"length": len(path), "path": path})

    return with_network(standpoint, look, progress)


def orphans_json(standpoint: Standpoint, progress: Progress | None = None) -> dict[str, Any]:
    """Return the dependencies that lead nowhere, each with the reason."""

    def look(network: TaskNetwork) -> dict[str, Any]:
        return network.with_left_out({"orphans": network.orphans, "total": len(network.orphans)})

    return with_network(standpoint, look, progress)


def dependents_elsewhere(start: Path, project: str, tasks: Iterable[str]) -> list[dict[str, Any]]:
    """Return the tasks of other projects that depend on tasks of one project (its hash), as far as `start` may read.

    Each has `ready`: true if nothing that it waits for is open. Without other projects this costs one read of the
    registry. If the registry or the index cannot be read, the result is empty.
    """

    def look(network: TaskNetwork) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for task in tasks:
            row = network.index.task(project, task) if project in network.projects else None
            for one in network.dependents(row) if row is not None else ():
                if one["location"] == "external" and one["status"] not in CLOSED:
                    other = network.index.task(*one["taskId"].split(":"))
                    waits = blocking_reasons(other, network.dependencies(other)) if other is not None else [""]
                    found[one["taskId"]] = {**one, "ready": not waits and one["status"] != "blocked"}
        return list(found.values())

    try:
        with contextlib.closing(open_standpoint(start)) as standpoint:
            if len(standpoint.registry.projects.keys() | {project}) < 2:
                return []
            return with_network(standpoint, look)
    except NexusError:
        return []


def _task_fields(located: LocatedTask) -> dict[str, Any]:
    return {"taskId": located.task_id, "ref": located.ref, "project": located.project.name}
