"""Advises whether to start a new agent for a task or to resume its earlier session."""

from gitnexus.base.text import one_line
from gitnexus.cycle.resume import TIERS, ResumeSituation, decide_resume
from gitnexus.harness import edits, tracker
from gitnexus.harness.cycle_status import TaskSummary
from gitnexus.harness.session_files import SessionFiles

# The programs in which an agent that has answered cannot be taken up again.
CANNOT = frozenset({"gemini-cli"})


def resume_advice_line(files: SessionFiles, task: TaskSummary, instead_of: str = "") -> str:
    """Return one line if an earlier session should be resumed; empty if a new agent is right.

    `instead_of` is an agent that was just started.
    """
    go_on, why = evaluate_resume(files, task)
    if not go_on or task.owner_agent_id == instead_of:
        return ""
    agent = f"{one_line(task.owner or 'agent', 40)} {one_line(task.owner_agent_id, 80)}"
    if instead_of:
        return f"Task {task.id} could have continued with {agent}, but was started afresh: {why}."
    return f"Task {task.id} continues with {agent}: {why}."


def evaluate_resume(session_files: SessionFiles, task: TaskSummary) -> tuple[bool, str]:
    """Return whether to resume a task's earlier agent, and why."""
    if session_files.harness in CANNOT:
        return False, "this program cannot take up an agent"
    rows = tracker.read_tracked_agents(session_files)
    earlier = tracker.find_tracked_agent(rows, task.owner_agent_id) if task.owner_agent_id else None
    files = tuple(file for file in (earlier or {}).get("files_touched") or () if isinstance(file, str))
    since = str((earlier or {}).get("stopped_at") or (earlier or {}).get("started_at") or "")
    return decide_resume(
        ResumeSituation(
            policy=task.policy if task.policy in ("fresh", "resume_if_same_artifact", "resume") else None,  # type: ignore[arg-type]
            tier=TIERS.get(task.owner, "ephemeral"),
            has_session=earlier is not None,
            same_agent=earlier is not None and earlier.get("agent_name") == task.owner,
            same_files=bool(files),
            others_edited=edits.is_edited_by_others(
                edits.read_edited_files(session_files), task.owner_agent_id, files, since
            ),
        )
    )
