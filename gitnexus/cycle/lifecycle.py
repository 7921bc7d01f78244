"""Starts a session (creates its files) and ends it (reports what is still open)."""

from collections.abc import Mapping
from typing import Any

from gitnexus.cycle.agents import TRACKER, calling_harness
from gitnexus.cycle.session import PLAN, TASKS, Session
from gitnexus.cycle.tasks import summarize_tasks
from gitnexus.state.layout import SESSION_FOLDER

# Written by the hooks of a harness (gitnexus/harness/sessions.py).
_SESSIONS = "sessions.json"


def start_session(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Create the session's folder and an empty tracker; report what an earlier session left open."""
    harness = calling_harness(session, params)
    with session.exclusive():
        left = [name for name, found in ((PLAN, session.plan()), (TASKS, session.tasks())) if found is not None]
        if not _is_tracked_by_hooks(session, harness):
            session.put_rows([harness], TRACKER, [])
    warning = f"an earlier session left {' and '.join(left)}: continue it, or close it with task_close"
    return {"started": True, "harness_id": harness, "stale": left, **({"warning": warning} if left else {})}


def end_session(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Report what is still open, and remove the agents of the session."""
    harness = calling_harness(session, params)
    with session.exclusive():
        plan, file = session.plan(), session.tasks()
        if not _is_tracked_by_hooks(session, harness):
            session.delete(TRACKER, [harness])
    warnings = []
    if plan is not None and any(issue.status == "pending" for issue in plan.issues):
        warnings.append(f"the plan {plan.topic!r} has issues that are not decided")
    if file is not None and summarize_tasks(file)["completed"] < len(file.tasks):
        warnings.append(f"{len(file.tasks) - summarize_tasks(file)['completed']} tasks are not completed")
    return {"ended": True, "harness_id": harness, "warnings": warnings}


def _is_tracked_by_hooks(session: Session, harness: str) -> bool:
    """Return True if hooks record the agents of each session: then a tool call must not remove those of another."""
    return session.load(f"{SESSION_FOLDER}/{harness}/{_SESSIONS}") is not None
