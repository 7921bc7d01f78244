"""Handles the start and end of sub-agents: tells them their task, limits and knowledge, and reports what is missing."""

import contextlib
from pathlib import Path

from gitnexus.base.errors import NexusError
from gitnexus.harness import knowledge, pending_messages
from gitnexus.harness.agents import (
    FinishedSubagent,
    StartedSubagent,
    keep_agent_brief,
    record_agent_end,
    record_agent_start,
)
from gitnexus.harness.cycle_status import format_task_brief
from gitnexus.harness.model import MOST_CONTEXT, HarnessEvent, HookAnswer
from gitnexus.harness.resume_advice import resume_advice_line
from gitnexus.harness.session_files import SessionFiles, find_session_files


def remember_agent_brief(event: HarnessEvent, role: str, text: str) -> None:
    """Store the brief of an agent that is about to start. Raises: NexusError, OSError."""
    files = find_session_files(event)
    if files is not None:
        keep_agent_brief(files, event, role, text)


def handle_subagent_start(event: HarnessEvent) -> HookAnswer:
    """Record an agent and return what it should know. Raises: NexusError, OSError."""
    files = find_session_files(event)
    found = record_agent_start(files, event) if files is not None else None
    if files is None or found is None:
        return HookAnswer()
    if found.task is not None:
        _move_task_status(files, found.task.id, "pending", "in_progress")
        said = resume_advice_line(files, found.task, instead_of=found.agent_id)
        if said:
            pending_messages.add_pending_message(files, event.session, f"git nexus: {said}")
    return HookAnswer(context=_subagent_context(files, found))


def handle_subagent_end(event: HarnessEvent) -> HookAnswer:
    """Record that an agent is done; remind its caller of unchecked work. Raises: NexusError, OSError."""
    files = find_session_files(event)
    found = record_agent_end(files, event) if files is not None else None
    if files is None or found is None or found.task is None:
        return HookAnswer()
    if found.role == found.task.owner or not found.task.owner:
        _move_task_status(files, found.task.id, "in_progress", "completed")
    if found.unchecked:
        reminder = _format_check_reminder(found)
        if event.hears:  # what ends here is a call of who started it
            return HookAnswer(context=reminder)
        pending_messages.add_pending_message(files, event.session, reminder)
    return HookAnswer()


def _subagent_context(files: SessionFiles, found: StartedSubagent) -> str:
    parts = [
        f"git nexus: you work on task {found.task.id} of this cycle:\n{format_task_brief(found.task)}"
        if found.task
        else "",
        _describe_role_limits(files, found.role),
        knowledge.format_knowledge_index(files.root),
    ]
    return "\n\n".join(part for part in parts if part)[:MOST_CONTEXT]


def _describe_role_limits(files: SessionFiles, role: str) -> str:
    """Return the limits of a role of the catalog, empty for an unknown role."""
    from gitnexus.app.catalog import open_catalog_at
    from gitnexus.catalog.effective import denied_harness_tools
    from gitnexus.catalog.harnesses import find_harness

    here = open_catalog_at(Path(files.location.top))
    if role not in here.catalog.agents:
        return ""
    held = here.effective(role)
    if not held:
        return ""
    words = "; ".join(here.catalog.capability(name).description.strip().rstrip(".") for name in held)
    tools = ", ".join(denied_harness_tools(here.catalog, held, find_harness(files.harness)))
    return f"git nexus: as {role} you are limited: {words}. Not for you here: {tools}."


def _format_check_reminder(found: FinishedSubagent) -> str:
    from gitnexus.base.text import frame_text, one_line

    assert found.task is not None  # noqa: S101 - who calls has looked
    lines = [
        f"git nexus: {found.role or 'an agent'} is done with task {found.task.id} “{one_line(found.task.title, 100)}”. "
        "Nobody has checked its acceptance criterion, and no tester or reviewer is planned for it. The criterion:",
        *frame_text(found.task.acceptance[:1500], 10_000),
        "Have it checked, or say why that is not needed.",
    ]
    return "\n".join(lines)


def _move_task_status(files: SessionFiles, task_id: int, before: str, after: str) -> None:
    """Change a task's status like its tool, if it has not changed meanwhile."""
    from gitnexus.cycle import run_tool
    from gitnexus.projects.open_session import open_session

    session = open_session(Path(files.location.top), files.harness)
    try:
        # The file may be gone or broken meanwhile: whoever did that has their reason.
        with contextlib.suppress(NexusError):
            file = session.tasks()
            if file and any(task.id == task_id and task.status == before for task in file.tasks):
                run_tool(session, "task_update", id=task_id, status=after)
    finally:
        session.state.close()
