"""Decides whether to start a new agent or resume an earlier session: a pure function, and the tools that call it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gitnexus.base.errors import NotFound
from gitnexus.cycle.agents import TRACKER, AgentEntry, calling_harness, plain_agent_name
from gitnexus.cycle.model import ReusePolicy
from gitnexus.cycle.session import Session

Tier = Literal["persistent", "bounded", "ephemeral"]

# By the agent's role; a role nobody knows is treated with most care.
TIERS: dict[str, Tier] = {
    **dict.fromkeys(("architect", "designer", "postdoc", "strategist", "researcher"), "persistent"),
    **dict.fromkeys(("engineer", "writer"), "bounded"),
    **dict.fromkeys(("tester", "reviewer"), "ephemeral"),
}


@dataclass(frozen=True, slots=True)
class ResumeSituation:
    """All that the decision depends on."""

    policy: ReusePolicy | None
    tier: Tier
    has_session: bool
    same_agent: bool
    same_files: bool
    others_edited: bool


def decide_resume(case: ResumeSituation) -> tuple[bool, str]:
    """Return whether to resume the earlier session, and why. A missing session is not an error."""
    if case.policy == "fresh":
        return False, "the task asks for a fresh start"
    if case.policy is None and case.tier == "ephemeral":
        return False, "this role checks with fresh eyes"
    if not case.has_session:
        return False, "there is no earlier session to resume"
    if case.tier == "bounded" and case.others_edited:
        return False, "others edited its files since"
    if case.policy == "resume":
        return True, "the task asks to go on"
    if case.policy is None and case.tier == "persistent":
        return True, "this role keeps its session"
    for holds, why in (
        (case.same_agent, "another agent had it"),
        (case.same_files, "it is about other files"),
        (not case.others_edited, "others edited its files since"),
    ):
        if not holds:
            return False, why
    return True, "the same agent, the same files, and nobody edited them since"


def is_edited_by_others(rows: Sequence[AgentEntry], agent_id: str, files: Sequence[str]) -> bool:
    """Return True if another agent edited one of `files` after this one stopped, or still works on them."""
    mine = next((row for row in rows if row.agent_id == agent_id), None)
    since = (mine.stopped_at or mine.started_at) if mine else ""
    for row in rows:
        touched = set(row.files_touched or ())
        if row.agent_id != agent_id and touched & set(files) and (row.stopped_at is None or row.stopped_at > since):
            return True
    return False


def task_resume_answer(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether to resume the agent of a task. Raises: NotFound."""
    file = session.tasks()
    if file is None:
        raise NotFound("tasks.json not found")
    task = next((task for task in file.tasks if task.id == params["id"]), None)
    if task is None:
        raise NotFound(f"Task id {params['id']} not found")
    name = plain_agent_name(params["agent_name"]) if "agent_name" in params else task.owner
    rows = session.rows([calling_harness(session, params)], TRACKER, AgentEntry)
    earlier = next((row for row in rows if row.agent_id == task.owner_agent_id), None)
    files = params.get("files", ())
    case = ResumeSituation(
        policy=task.owner_reuse_policy,
        tier=TIERS.get(name or "", "ephemeral"),
        has_session=task.owner_agent_id is not None and earlier is not None,
        same_agent=earlier is not None and earlier.agent_name == name,
        same_files=earlier is not None and bool(files) and set(files) <= set(earlier.files_touched or ()),
        others_edited=is_edited_by_others(
            rows, task.owner_agent_id or "", files or (earlier and earlier.files_touched) or ()
        ),
    )
    return _resume_answer(case, task.owner_agent_id)


def issue_resume_answer(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether to resume the agent that analysed an issue. Raises: NotFound."""
    plan = session.plan()
    if plan is None:
        raise NotFound("No active plan session")
    issue = next((issue for issue in plan.issues if issue.id == params["issue_id"]), None)
    if issue is None:
        raise NotFound(f"Issue {params['issue_id']} not found")
    name = plain_agent_name(params["agent_name"])
    agent_id = (issue.how_agent_ids or {}).get(name)
    for entry in issue.analysis or ():
        agent_id = entry.agent_id if entry.agent == name and entry.agent_id else agent_id
    tier = TIERS.get(name, "ephemeral")
    return _resume_answer(ResumeSituation(None, tier, agent_id is not None, True, True, False), agent_id)


def _resume_answer(case: ResumeSituation, agent_id: str | None) -> dict[str, Any]:
    go_on, why = decide_resume(case)
    return {"resume": go_on, "reason": why, **({"agent_id": agent_id} if go_on else {})}
