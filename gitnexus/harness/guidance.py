"""What is said beside every message of a person: where plan and tasks stand, what is known, in a few lines."""

from gitnexus.harness import knowledge
from gitnexus.harness.shelf import Shelf
from gitnexus.harness.standing import Standing, plan_line, standing, tasks_line


def guidance(shelf: Shelf) -> str:
    """Return the lines, nothing where there is neither work nor knowledge."""
    found = standing(shelf)
    lines = [
        *([plan_line(found.plan)] if found.plan else []),
        *([tasks_line(found)] if found.has_tasks else []),
        *found.broken,
        *resumable(shelf, found),
        knowledge.counted(shelf.root),
    ]
    said = [line for line in lines if line]
    return "\n".join(["git nexus: where the session stands:", *(f"│ {line}" for line in said)]) if said else ""


def resumable(shelf: Shelf, found: Standing) -> list[str]:
    """Return for each task that can be begun and had an agent whether that one should go on."""
    asked = [task for task in found.ready if task.owner_agent_id][:5]
    if not asked:  # nearly always
        return []
    from gitnexus.harness.resuming import advice

    return [line for task in asked if (line := advice(shelf, task))]
