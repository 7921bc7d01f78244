"""Closes a cycle: moves plan and tasks into the history, as one commit, and empties the session."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.clock import format_precise_timestamp
from gitnexus.base.errors import Conflict
from gitnexus.cycle.model import SCHEMA_VERSION, Cycle, CycleHistory, PlanFile, TaskFile
from gitnexus.cycle.session import PLAN, TASKS, Session


def close_cycle(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Archive what is open and delete plan.json and tasks.json, and nothing else."""
    with session.exclusive():
        plan, file = session.plan(), session.tasks()
        open_tasks = [task.id for task in file.tasks if task.status != "completed"] if file else []
        if params.get("refuse_open") and open_tasks:
            raise Conflict(f"tasks are not completed: {', '.join(map(str, open_tasks))}", hint="leave refuse_open out")
        cycle = Cycle(
            completed_at=format_precise_timestamp(session.clock()),
            branch=session.branch(),
            plan=archived_plan(plan),
            tasks=file.tasks if file else (),
            schema_version=SCHEMA_VERSION,
        )
        history = session.append(lambda history: with_closed_cycle(history, cycle))
        deleted = [name for name in (PLAN, TASKS) if session.delete(name)]
    decisions = count_decided_issues(plan)
    return {
        "closed": True,
        "cycle": history.cycles[-1].completed_at,
        "branch": history.cycles[-1].branch,
        "archived": {"plan": plan is not None, "decisions": decisions, "tasks": len(cycle.tasks)},
        "deleted": deleted,
        "total_cycles": len(history.cycles),
        "memoryHint": {
            "taskCount": len(cycle.tasks),
            "decisionCount": decisions,
            "cycleTopics": [plan.topic] if plan else _topics_from_goal(file),
        },
    }


def archived_plan(plan: PlanFile | None) -> PlanFile | None:
    """Return a plan as the history keeps it: there the cycle says which version of the schema it is."""
    return plan.changed(schema_version=None) if plan else None


def with_closed_cycle(history: CycleHistory, cycle: Cycle) -> tuple[CycleHistory, str]:
    """Return the history with one more cycle and the reason.

    What a killed close archived and did not delete any more is not archived a second time.
    """
    last = history.cycles[-1] if history.cycles else None
    if last is not None and _is_rest_of(cycle, last):
        return history, ""
    after = history.changed(cycles=(*history.cycles, cycle), schema_version=SCHEMA_VERSION)
    return after, _commit_reason(cycle)


def _is_rest_of(cycle: Cycle, last: Cycle) -> bool:
    """True if what is open is all, or what is left, of the cycle that was archived last."""
    return bool(cycle.plan or cycle.tasks) and cycle.plan in (None, last.plan) and cycle.tasks == last.tasks


def count_decided_issues(plan: PlanFile | None) -> int:
    """Return how many issues of a plan are decided."""
    return sum(issue.status == "decided" for issue in plan.issues) if plan else 0


def _commit_reason(cycle: Cycle) -> str:
    what = f"the plan {cycle.plan.topic!r}" if cycle.plan else "a cycle without a plan"
    count = len(cycle.tasks)
    done = sum(task.status == "completed" for task in cycle.tasks)
    return f"cycle: close {what}, {done} of {count} tasks done"


def _topics_from_goal(file: TaskFile | None) -> list[str]:
    return [file.goal] if file else []
