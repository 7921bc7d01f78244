"""What commands and tools answer about who waits for whom, in the words of their JSON."""

from typing import Any

from gitnexus.app.network import Progress, with_network
from gitnexus.backlog.reference import parsed
from gitnexus.base.errors import Invalid
from gitnexus.projects.network import Network, blocked
from gitnexus.projects.operations import Operation
from gitnexus.projects.resolve import Located
from gitnexus.projects.standpoint import Standpoint


def located(standpoint: Standpoint, text: str, operation: Operation) -> Located:
    """Return a task of one project that may be read. Raises: BadReference, Invalid, PermissionDenied, …"""
    reference = parsed(text)
    if reference.is_everywhere:
        raise Invalid(f"{text} means the tasks of every project, one is wanted here", hint="name the project")
    at = standpoint.locate(reference)
    standpoint.require(operation, at.project, at.task)
    return at


def dependencies(
    standpoint: Standpoint, at: Located, progress: Progress | None = None, *, both_ways: bool = False
) -> dict[str, Any]:
    """Return what a task waits for, and with `both_ways` what waits for it too. Raises: NotFound."""

    def look(network: Network) -> dict[str, Any]:
        row = network.row(at)
        found = network.dependencies(row)
        why = blocked(row, found)
        waiting = {"dependents": network.dependents(row)} if both_ways else {}
        return {**_whose(at), "dependencies": found, "blocked": bool(why) or row.status == "blocked",
                "blockedBy": why, **waiting}  # fmt: skip

    return with_network(standpoint, look, progress)


def dependents(standpoint: Standpoint, at: Located, progress: Progress | None = None) -> dict[str, Any]:
    """Return the tasks that wait for one. Raises: NotFound."""
    found = with_network(standpoint, lambda network: network.dependents(network.row(at)), progress)
    return {**_whose(at), "dependents": found}


def blocking(standpoint: Standpoint, at: Located, progress: Progress | None = None) -> dict[str, Any]:
    """Return all that a task holds up. Raises: NotFound."""
    found = with_network(standpoint, lambda network: network.blocking(network.row(at)), progress)
    return {"taskId": at.task_id, "ref": at.ref, "impact": len(found), "tasks": found}


def critical_path(standpoint: Standpoint, at: Located | None, progress: Progress | None = None) -> dict[str, Any]:
    """Return the longest chain of open tasks, of all or up to one. Raises: Cyclic, NotFound."""
    path = with_network(standpoint, lambda network: network.critical_path(network.row(at) if at else None), progress)
    return {"length": len(path), "path": path}


def _whose(at: Located) -> dict[str, Any]:
    return {"taskId": at.task_id, "ref": at.ref, "project": at.project.name}
