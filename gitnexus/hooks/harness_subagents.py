"""A sub-agent begins or ends: it hears its task, its limits and what is known; who started it hears what is missing."""

import contextlib
from pathlib import Path

from gitnexus.base.errors import NexusError
from gitnexus.harness import knowledge, mail
from gitnexus.harness.agents import Done, Spawned, briefed, done, spawned
from gitnexus.harness.model import MOST_CONTEXT, Answer, Happening
from gitnexus.harness.resuming import advice
from gitnexus.harness.shelf import Shelf, shelf_of
from gitnexus.harness.standing import brief


def remembered(told: Happening, role: str, text: str) -> None:
    """Keep the brief that an agent is about to be started with. Raises: NexusError, OSError."""
    shelf = shelf_of(told)
    if shelf is not None:
        briefed(shelf, told, role, text)


def began(told: Happening) -> Answer:
    """Track an agent and tell it what it should know. Raises: NexusError, OSError."""
    shelf = shelf_of(told)
    found = spawned(shelf, told) if shelf is not None else None
    if shelf is None or found is None:
        return Answer()
    if found.task is not None:
        _move(shelf, found.task.id, "pending", "in_progress")
        said = advice(shelf, found.task, instead_of=found.agent_id)
        if said:
            mail.put(shelf, told.session, f"git nexus: {said}")
    return Answer(context=_context(shelf, found))


def finished(told: Happening) -> Answer:
    """Track that an agent is done; remind who started it of what nobody looked at. Raises: NexusError, OSError."""
    shelf = shelf_of(told)
    found = done(shelf, told) if shelf is not None else None
    if shelf is None or found is None or found.task is None:
        return Answer()
    if found.role == found.task.owner or not found.task.owner:
        _move(shelf, found.task.id, "in_progress", "completed")
    if found.unchecked:
        reminder = _reminder(found)
        if told.hears:  # what ends here is a call of who started it
            return Answer(context=reminder)
        mail.put(shelf, told.session, reminder)
    return Answer()


def _context(shelf: Shelf, found: Spawned) -> str:
    parts = [
        f"git nexus: you work on task {found.task.id} of this cycle:\n{brief(found.task)}" if found.task else "",
        _limits(shelf, found.role),
        knowledge.told(shelf.root),
    ]
    return "\n\n".join(part for part in parts if part)[:MOST_CONTEXT]


def _limits(shelf: Shelf, role: str) -> str:
    """Return what a role of the catalog may not do here, nothing for one that it does not know."""
    from gitnexus.app.catalog import catalog_at
    from gitnexus.catalog.effective import denied
    from gitnexus.catalog.harnesses import harness_named

    here = catalog_at(Path(shelf.place.worktree))
    if role not in here.catalog.agents:
        return ""
    held = here.effective(role)
    if not held:
        return ""
    words = "; ".join(here.catalog.capability(name).description.strip().rstrip(".") for name in held)
    tools = ", ".join(denied(here.catalog, held, harness_named(shelf.harness)))
    return f"git nexus: as {role} you are limited: {words}. Not for you here: {tools}."


def _reminder(found: Done) -> str:
    from gitnexus.base.text import framed, one_line

    assert found.task is not None  # noqa: S101 - who calls has looked
    lines = [
        f"git nexus: {found.role or 'an agent'} is done with task {found.task.id} “{one_line(found.task.title, 100)}”. "
        "Nobody has checked how one sees that it is done, and no tester or reviewer is planned for it. It says:",
        *framed(found.task.acceptance[:1500], 10_000),
        "Have it checked, or say why that is not needed.",
    ]
    return "\n".join(lines)


def _move(shelf: Shelf, task_id: int, before: str, after: str) -> None:
    """Move a task on as its tool does, if it still stands where it was seen."""
    from gitnexus.app.session import open_session
    from gitnexus.cycle import call

    session = open_session(Path(shelf.place.worktree), shelf.harness)
    try:
        # The file may be gone or broken meanwhile: whoever did that has their reason.
        with contextlib.suppress(NexusError):
            file = session.tasks()
            if file and any(task.id == task_id and task.status == before for task in file.tasks):
                call(session, "task_update", {"id": task_id, "status": after})
    finally:
        session.state.close()
