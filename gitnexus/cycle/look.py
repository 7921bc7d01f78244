"""Searches closed cycles, and returns the status of the session."""

import json
from collections.abc import Mapping
from typing import Any

from gitnexus.cycle.model import Cycle
from gitnexus.cycle.session import Session

_SHOWN = 10
_AROUND = 60


def search_history(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the newest closed cycles that hold the words, in the order in which they were closed."""
    query, scope = params.get("query", "").casefold(), params.get("scope", "all")
    found = [cycle for cycle in session.history().cycles if query in _searched_text(cycle, scope).casefold()]
    count = params.get("last_n", _SHOWN)
    shown = found[-count:] if count > 0 else []
    rows = [_cycle_row(cycle) for cycle in shown]
    if params.get("excerpts") and query:
        rows = [
            {**row, "excerpt": _excerpt_around_query(cycle, scope, query)}
            for row, cycle in zip(rows, shown, strict=True)
        ]
    return {"total": len(found), "showing": len(shown), "cycles": rows}


def session_context(session: Session, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Return branch, goal, counts and decisions of the session."""
    file = session.tasks()
    answer: dict[str, Any] = {"branch": session.branch(), "activeMode": "team" if file else None}
    if file is not None:
        answer["goal"] = file.goal
        answer["tasksSummary"] = {
            "total": len(file.tasks),
            "completed": sum(task.status == "completed" for task in file.tasks),
            "pending": sum(task.status == "pending" for task in file.tasks),
        }
    return {**answer, "decisions": list(file.decisions) if file else []}


def _searched_text(cycle: Cycle, scope: str) -> str:
    """Return the JSON of the part of a cycle that is searched."""
    whole = cycle.plain()
    plan = whole["plan"] or {}
    part = {
        "plan": plan,
        "tasks": whole["tasks"],
        "decisions": [issue.get("decision") for issue in plan.get("issues", [])],
    }.get(scope, whole)
    return json.dumps(part, ensure_ascii=False)


def _excerpt_around_query(cycle: Cycle, scope: str, query: str) -> str:
    text = _searched_text(cycle, scope)
    at = max(0, text.casefold().find(query))
    return ("…" if at > _AROUND else "") + text[max(0, at - _AROUND) : at + len(query) + _AROUND]


def _cycle_row(cycle: Cycle) -> dict[str, Any]:
    row: dict[str, Any] = {"completed_at": cycle.completed_at, "branch": cycle.branch}
    if cycle.plan is not None:
        row["topic"] = cycle.plan.topic
        row["decisions"] = [
            {"title": issue.title, "decision": issue.decision}
            for issue in cycle.plan.issues
            if issue.decision is not None
        ]
    return {**row, "task_count": len(cycle.tasks)}
