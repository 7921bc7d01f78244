"""Adds, lists and updates the tasks of a cycle."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.clock import format_precise_timestamp
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.cycle.model import SCHEMA_VERSION, CycleTask, PlanFile, TaskFile, TaskResult
from gitnexus.cycle.session import TASKS, Session

_PLAIN = ("approach", "acceptance", "risk", "plan_issue", "owner", "owner_agent_id", "owner_reuse_policy")


def add_cycle_task(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Add a task; the first makes the file."""
    with session.exclusive():
        after, task = with_new_task(session.tasks(), session.plan(), params, format_precise_timestamp(session.clock()))
        session.put(TASKS, after)
    return {"task": task.plain()}


def list_cycle_tasks(session: Session, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tasks with what is ready."""
    file = session.tasks()
    if file is None:
        return {"exists": False}
    return {"goal": file.goal, "tasks": [task.plain() for task in file.tasks], "summary": summarize_tasks(file)}


def update_cycle_task(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Move a task to another status."""
    with session.exclusive():
        file = session.tasks()
        if file is None:
            raise NotFound("tasks.json not found")
        after, task = with_task_status(
            file, params["id"], params["status"], parse_task_result(params, format_precise_timestamp(session.clock()))
        )
        session.put(TASKS, after)
    return {"task": task.plain()}


def with_new_task(
    file: TaskFile | None, plan: PlanFile | None, params: Mapping[str, Any], created: str
) -> tuple[TaskFile, CycleTask]:
    """Return the file with one more task. Raises: Invalid for a dependency that does not exist."""
    for name in ("title", "context"):
        if not params[name]:
            raise Invalid(f"{name} should not be empty")
    tasks = file.tasks if file else ()
    deps = tuple(params.get("deps", ()))
    missing = [dep for dep in deps if dep not in {task.id for task in tasks}]
    if missing:
        raise Invalid(f"deps names tasks that do not exist: {', '.join(map(str, missing))}")
    task = CycleTask(
        id=1 + max((task.id for task in tasks), default=0),
        title=params["title"],
        context=params["context"],
        deps=deps,
        created_at=created,
        **{name: params[name] for name in _PLAIN if name in params},
    )
    # The schema wants a goal that is not empty, the contract a task_add without one: the plan's topic says what it
    # is all for, and without a plan the first task does.
    goal = params.get("goal") or (file.goal if file else None) or (plan.topic if plan else None) or task.title
    before = file or TaskFile(goal=goal, schema_version=SCHEMA_VERSION)
    decisions = (*before.decisions, *params.get("decisions", ()))
    return before.changed(goal=goal, decisions=decisions, tasks=(*tasks, task)), task


def parse_task_result(params: Mapping[str, Any], moment: str) -> TaskResult | None:
    """Return the result of a task, if it was given. Raises: Invalid."""
    if "outcome" not in params:
        if "summary" in params or "artifacts" in params:
            raise Invalid("outcome is required with summary and artifacts")
        return None
    artifacts = tuple(params["artifacts"]) if "artifacts" in params else None
    return TaskResult(
        outcome=params["outcome"], summary=params.get("summary", ""), recorded_at=moment, artifacts=artifacts
    )


def with_task_status(
    file: TaskFile, task_id: int, status: str, result: TaskResult | None = None
) -> tuple[TaskFile, CycleTask]:
    """Return the file with one task in another status. Raises: NotFound."""
    found = next((task for task in file.tasks if task.id == task_id), None)
    if found is None:
        raise NotFound(f"Task id {task_id} not found")
    task = found.changed(status=status, result=result or found.result)
    return file.changed(tasks=tuple(task if other.id == task_id else other for other in file.tasks)), task


def summarize_tasks(file: TaskFile) -> dict[str, Any]:
    """Return the counts; by contract `blocked` is what is in progress."""
    done = {task.id for task in file.tasks if task.status == "completed"}
    pending = [task for task in file.tasks if task.status == "pending"]
    return {
        "total": len(file.tasks),
        "completed": len(done),
        "pending": len(pending),
        "blocked": sum(task.status == "in_progress" for task in file.tasks),
        "ready": [task.id for task in pending if set(task.deps) <= done],
    }
