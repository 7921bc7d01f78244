"""Starts and shows the plan, changes its issues, and records decisions on them."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.clock import format_precise_timestamp
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.cycle.agents import plain_agent_name
from gitnexus.cycle.model import SCHEMA_VERSION, Cycle, CycleHistory, IssueAnalysis, PlanFile, PlanIssue
from gitnexus.cycle.session import PLAN, TASKS, Session

_NO_PLAN = "No active plan session"


def start_plan(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Start a plan; an existing one is archived first."""
    with session.exclusive():
        if not all([params["topic"], *params["issues"]]):
            raise Invalid("topic and issues should not be empty")
        before = session.plan()
        history = session.history() if before is None else _archive_plan(session, before)
        created = format_precise_timestamp(session.clock())
        plan = PlanFile(
            id=1 + max((cycle.plan.id for cycle in history.cycles if cycle.plan), default=0),
            topic=params["topic"],
            issues=tuple(PlanIssue(id=at, title=title) for at, title in enumerate(params["issues"], 1)),
            research_summary=params["research_summary"],
            created_at=created,
            schema_version=SCHEMA_VERSION,
        )
        session.put(PLAN, plan)
    return {
        "created": True,
        "plan_id": plan.id,
        "topic": plan.topic,
        "issueCount": len(plan.issues),
        "previousArchived": before is not None,
    }


def plan_status(session: Session, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan with a count of its issues."""
    plan = session.plan()
    if plan is None:
        return {"active": False}
    decided = sum(issue.status == "decided" for issue in plan.issues)
    answer = {
        "active": True,
        "plan_id": plan.id,
        "topic": plan.topic,
        "issues": [issue.plain() for issue in plan.issues],
        "summary": {"total": len(plan.issues), "pending": len(plan.issues) - decided, "decided": decided},
    }
    return {**answer, "research_summary": plan.research_summary} if plan.research_summary is not None else answer


def update_plan(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Add, remove, edit or reopen an issue."""
    with session.exclusive():
        plan, issue, past = apply_issue_change(session.plan(), params)
        session.put(PLAN, plan)
    return {past: True, "issue": issue.plain()}


def decide_issue(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Record the decision on an issue; deciding again overwrites."""
    with session.exclusive():
        plan, issue = with_decision(session.plan(), params)
        session.put(PLAN, plan)
    left = [other for other in plan.issues if other.status == "pending"]
    answer: dict[str, Any] = {"decided": True, "issue": issue.title, "allComplete": not left}
    if left:
        return {**answer, "remaining": [{"id": i.id, "title": i.title, "status": i.status} for i in left]}
    return {**answer, "message": "All issues are decided. Turn the decisions into tasks with plan_tasks or task_add."}


def add_analysis(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Add what an agent found about an issue; nothing that was found before is touched."""
    entry = IssueAnalysis(
        agent=plain_agent_name(params["agent_name"]),
        summary=params["summary"],
        recorded_at=format_precise_timestamp(session.clock()),
        agent_id=params.get("agent_id"),
    )
    with session.exclusive():
        plan = session.plan()
        if plan is None:
            raise NotFound(_NO_PLAN)
        issue = _require_issue(plan, params["issue_id"], "analysis")
        after, changed = _with_issue(plan, issue.changed(analysis=(*(issue.analysis or ()), entry)))
        session.put(PLAN, after)
    return {"recorded": True, "issue": changed.plain()}


def apply_issue_change(plan: PlanFile | None, params: Mapping[str, Any]) -> tuple[PlanFile, PlanIssue, str]:
    """Return the changed plan, the issue concerned and what was done to it. Raises: NotFound, Invalid."""
    if plan is None:
        raise NotFound(_NO_PLAN)
    action, issue_id, title = params["action"], params.get("issue_id"), params.get("title")
    match action:
        case "add":
            if not title:
                raise Invalid("title is required for add")
            issue = PlanIssue(id=1 + max((issue.id for issue in plan.issues), default=0), title=title)
            return plan.changed(issues=(*plan.issues, issue)), issue, "added"
        case "remove":
            issue = _require_issue(plan, issue_id, action)
            return plan.changed(issues=tuple(i for i in plan.issues if i.id != issue.id)), issue, "removed"
        case "edit":
            if issue_id is None or not title:
                raise Invalid("issue_id and title are required for edit")
            return *_with_issue(plan, _require_issue(plan, issue_id, action).changed(title=title)), "edited"
        case "reopen":
            reopened = _require_issue(plan, issue_id, action).changed(status="pending", decision=None)
            return *_with_issue(plan, reopened), "reopened"
        case _:
            raise Invalid(f"Unknown action: {action}")


def with_decision(plan: PlanFile | None, params: Mapping[str, Any]) -> tuple[PlanFile, PlanIssue]:
    """Return the plan with one more decision. Raises: NotFound."""
    if plan is None:
        raise NotFound(_NO_PLAN)
    issue = _require_issue(plan, params["issue_id"], "decide")
    how: dict[str, Any] = {name: params[name] for name in ("how_summary", "how_agent_ids") if name in params}
    if "how_agents" in params:
        how["how_agents"] = tuple(params["how_agents"])
    return _with_issue(plan, issue.changed(status="decided", decision=params["decision"], **how))


def _require_issue(plan: PlanFile, issue_id: int | None, action: str) -> PlanIssue:
    if issue_id is None:
        raise Invalid(f"issue_id is required for {action}")
    found = next((issue for issue in plan.issues if issue.id == issue_id), None)
    if found is None:
        raise NotFound(f"Issue {issue_id} not found")
    return found


def _with_issue(plan: PlanFile, issue: PlanIssue) -> tuple[PlanFile, PlanIssue]:
    return plan.changed(issues=tuple(issue if other.id == issue.id else other for other in plan.issues)), issue


def _archive_plan(session: Session, plan: PlanFile) -> CycleHistory:
    """Add a plan to the history before another replaces it; the same plan is added once only."""
    kept, file = plan.changed(schema_version=None), session.tasks()
    cycle = Cycle(
        completed_at=format_precise_timestamp(session.clock()),
        branch=session.branch(),
        plan=kept,
        tasks=(),
        schema_version=SCHEMA_VERSION,
    )

    def with_plan(history: CycleHistory) -> tuple[CycleHistory, str]:
        if history.cycles and history.cycles[-1].plan == kept:
            return history, ""
        after = history.changed(cycles=(*history.cycles, cycle), schema_version=SCHEMA_VERSION)
        return after, f"cycle: archive the plan {plan.topic!r}, replaced by another"

    history = session.append(with_plan)
    if file and file.tasks and (history.cycles[-1].plan, history.cycles[-1].tasks) == (kept, file.tasks):
        session.delete(TASKS)  # the rest of a close that was killed
    return history
