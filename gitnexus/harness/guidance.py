"""Returns the lines added to every message of the user: the status of plan and tasks, and the available knowledge."""

from gitnexus.harness import knowledge
from gitnexus.harness.cycle_status import CycleStatus, format_plan_line, format_tasks_line, read_cycle_status
from gitnexus.harness.session_files import SessionFiles


def message_guidance(files: SessionFiles) -> str:
    """Return the lines, empty if there is neither open work nor knowledge."""
    found = read_cycle_status(files)
    lines = [
        *([format_plan_line(found.plan)] if found.plan else []),
        *([format_tasks_line(found)] if found.has_tasks else []),
        *found.broken,
        *resumable_task_lines(files, found),
        knowledge.format_knowledge_counts(files.root),
    ]
    said = [line for line in lines if line]
    return "\n".join(["git nexus: status of the session:", *(f"│ {line}" for line in said)]) if said else ""


def resumable_task_lines(files: SessionFiles, found: CycleStatus) -> list[str]:
    """Return, for each startable task that had an agent, whether that agent should be resumed."""
    asked = [task for task in found.ready if task.owner_agent_id][:5]
    if not asked:  # nearly always
        return []
    from gitnexus.harness.resume_advice import resume_advice_line

    return [line for task in asked if (line := resume_advice_line(files, task))]
