"""Should an agent be started afresh for a task, or its earlier session be taken up? Told to who starts agents."""

from gitnexus.base.text import one_line
from gitnexus.cycle.resume import TIERS, Situation, resumes
from gitnexus.harness import edits, tracker
from gitnexus.harness.shelf import Shelf
from gitnexus.harness.standing import Task

# The programs in which an agent that has answered cannot be taken up again.
CANNOT = frozenset({"gemini-cli"})


def advice(shelf: Shelf, task: Task, instead_of: str = "") -> str:
    """Return one line if an earlier session should be taken up; nothing where a fresh start is right.

    `instead_of` is an agent that was started afresh just now.
    """
    go_on, why = evaluated(shelf, task)
    if not go_on or task.owner_agent_id == instead_of:
        return ""
    agent = f"{one_line(task.owner or 'agent', 40)} {one_line(task.owner_agent_id, 80)}"
    if instead_of:
        return f"Task {task.id} could have gone on with {agent}, and was started afresh: {why}."
    return f"Task {task.id} goes on with {agent}: {why}."


def evaluated(shelf: Shelf, task: Task) -> tuple[bool, str]:
    """Return whether a task's earlier agent goes on, and why."""
    if shelf.harness in CANNOT:
        return False, "this program cannot take up an agent"
    rows = tracker.rows_in(shelf)
    earlier = tracker.found(rows, task.owner_agent_id) if task.owner_agent_id else None
    files = tuple(file for file in (earlier or {}).get("files_touched") or () if isinstance(file, str))
    since = str((earlier or {}).get("stopped_at") or (earlier or {}).get("started_at") or "")
    return resumes(
        Situation(
            policy=task.policy if task.policy in ("fresh", "resume_if_same_artifact", "resume") else None,  # type: ignore[arg-type]
            tier=TIERS.get(task.owner, "ephemeral"),
            has_session=earlier is not None,
            same_agent=earlier is not None and earlier.get("agent_name") == task.owner,
            same_files=bool(files),
            others_edited=edits.others_since(edits.files_in(shelf), task.owner_agent_id, files, since),
        )
    )
