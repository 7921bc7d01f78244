"""The tools of the backlog on a task of another project: as its commands, permitted and written down before."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitnexus.app.open import described
from gitnexus.app.reach import reached
from gitnexus.backlog import Backlog
from gitnexus.backlog.reference import Reference, one
from gitnexus.base.tool import Tool
from gitnexus.git import Repo

# What each tool that names a task does to it; `task` in these is the other project's.
_OPERATIONS = {
    "backlog_show": "show",
    "backlog_update": "task update",
    "backlog_complete": "task complete",
    "backlog_claim": "task claim",
}
_CLOSING = {"done": "task complete", "cancelled": "task cancel"}  # by whatever word: it needs what these need


def ran(tool: Tool[Backlog], backlog: Backlog, repo: Repo, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool on the project's own backlog, or on the one that its task lies in.

    Raises: BadReference, Invalid, ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
    """
    reference = one(given["task"]) if tool.name in _OPERATIONS else None
    if reference is None or reference.project is None or backlog.elsewhere.own(reference.project):
        return tool.run(backlog, given)
    return _elsewhere(tool, reference, repo, given)


def _elsewhere(tool: Tool[Backlog], reference: Reference, repo: Repo, given: Mapping[str, Any]) -> dict[str, Any]:
    operation = _CLOSING.get(given.get("status", ""), _OPERATIONS[tool.name])
    there, task = reached(Path(repo.place), reference, operation)
    try:
        refs = {name: [_seen_there(repo, ref) for ref in given[name]]
                for name in ("depends", "remove_depends") if name in given}  # fmt: skip
        answer = tool.run(there.backlog, {**given, **refs, "task": task})
        return {**answer, "task": there.named(answer["task"])}
    finally:
        there.close()


def _seen_there(repo: Repo, text: str) -> str:
    """Return a reference as the other project must store it: a bare id means one of ours."""
    reference = one(text)
    return f"{described(repo)['name']}:{reference.task}" if reference.project is None else text
