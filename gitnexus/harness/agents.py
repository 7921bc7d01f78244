"""Records the start and end of sub-agents: the tracker, the session each belongs to, and the task it works on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.harness import agent_tasks, edits, pending_messages, toollog, tracker
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.cycle_status import CycleStatus, TaskSummary, read_cycle_status
from gitnexus.harness.model import HarnessEvent
from gitnexus.harness.moment import format_timestamp
from gitnexus.harness.session_files import SessionFiles
from gitnexus.harness.touched import files_changed_by_call

CHECKS = frozenset({"tester", "reviewer"})


class StartedSubagent(NamedTuple):
    """A started agent, and its task if it is known."""

    agent_id: str
    role: str
    task: TaskSummary | None
    cycle: CycleStatus


class FinishedSubagent(NamedTuple):
    """A finished agent: its task, the files it changed, and whether somebody checks its work."""

    agent_id: str
    role: str
    task: TaskSummary | None
    files: tuple[str, ...]
    unchecked: bool


def keep_agent_brief(files: SessionFiles, event: HarnessEvent, role: str, brief: str) -> None:
    """Store the brief of an agent until the program reports its start. Raises: Busy, OSError."""
    if brief:
        pending_messages.add_pending_message(
            files, _brief_key(event.session, tracker.plain_role_name(role)), brief, "brief"
        )


def record_agent_start(files: SessionFiles, event: HarnessEvent) -> StartedSubagent | None:
    """Record the start of an agent; return None if the event does not name it. Raises: NexusError, OSError."""
    role = tracker.plain_role_name(event.agent)
    briefs = pending_messages.take_pending_messages(files, _brief_key(event.session, role), "brief", first=True)
    found = read_cycle_status(files)
    with files.exclusive():
        rows, sessions, linked = (
            tracker.read_tracked_agents(files),
            open_sessions.read_open_sessions(files),
            agent_tasks.read_agent_tasks(files),
        )
        agent_id = tracker.plain_agent_id(event.agent_id) or _generate_agent_id(event, rows)
        if not agent_id:
            return None
        running = {row.get("agent_id") for row in rows if row.get("status") == "running"} - {agent_id}
        taken = {task for agent, task in linked.items() if agent in running}
        task = _task_by_id(found, linked.get(agent_id)) or agent_tasks.find_task_of_agent(
            found.tasks, role, agent_id, event.text or "".join(briefs), taken
        )
        mine = open_sessions.with_agent(open_sessions.session_seen_now(sessions, event.session), agent_id)
        tracker.write_tracked_agents(
            files, tracker.with_agent_started(rows, files.harness, role, agent_id, format_timestamp())
        )
        open_sessions.write_open_sessions(files, {**sessions, event.session: mine})
        if task is not None:
            agent_tasks.write_agent_tasks(files, {**linked, agent_id: task.id})
    return StartedSubagent(agent_id, role, task, found)


def record_agent_end(session_files: SessionFiles, event: HarnessEvent) -> FinishedSubagent | None:
    """Record the end of an agent and the files it changed; None for an unknown agent. Raises: NexusError, OSError."""
    found = read_cycle_status(session_files)
    with session_files.exclusive():
        rows, linked = tracker.read_tracked_agents(session_files), agent_tasks.read_agent_tasks(session_files)
        agent_id = tracker.plain_agent_id(event.agent_id) or _last_running_agent(session_files, event, rows)
        row = tracker.find_tracked_agent(rows, agent_id) if agent_id else None
        # Claude Code also reports the end of the agent that compacts, without its start; an end may be reported twice.
        if row is None or row.get("status") == "completed":
            return None
        moment = format_timestamp()
        files = tuple(
            dict.fromkeys(
                [*toollog.files_changed_by_agent(session_files, agent_id), *_files_in_answer(session_files, event)]
            )
        )
        tracker.write_tracked_agents(
            session_files, tracker.with_agent_completed(rows, agent_id, moment, event.text, files)
        )
        if files:
            known = edits.read_edited_files(session_files)
            new = [file for file in files if agent_id not in known.get(file, {})]
            session_files.store(edits.TRACKER, {"files": edits.with_file_edits(known, new, agent_id, moment)})
    role = str(row.get("agent_name", ""))
    task = _task_by_id(found, linked.get(agent_id))
    unchecked = task is not None and role not in CHECKS and _is_task_unchecked(task, found, rows, linked, row)
    return FinishedSubagent(agent_id, role, task, files, unchecked)


def _is_task_unchecked(
    task: TaskSummary, found: CycleStatus, rows: Sequence[tracker.Row], linked: Mapping[str, int], mine: tracker.Row
) -> bool:
    """Return True if a task has acceptance criteria and no agent has checked or will check them."""
    if not task.acceptance:
        return False
    planned = any(other.owner in CHECKS and task.id in other.deps for other in found.tasks)
    since = str(mine.get("started_at", ""))
    looked = any(
        row.get("agent_name") in CHECKS
        and (linked.get(str(row.get("agent_id"))) == task.id or str(row.get("started_at", "")) >= since)
        for row in rows
    )
    return not planned and not looked


def _task_by_id(found: CycleStatus, task_id: int | None) -> TaskSummary | None:
    return next((task for task in found.tasks if task.id == task_id), None)


def _brief_key(session: str, role: str) -> str:
    return f"{session}/{role}"


def _generate_agent_id(event: HarnessEvent, rows: Sequence[tracker.Row]) -> str:
    """Return an id for an agent of a program that gives none."""
    if event.name in ("SubagentStart", "session.created"):
        return ""
    prefix = f"{tracker.plain_agent_id(event.session)}:"
    count = sum(str(row.get("agent_id", "")).startswith(prefix) for row in rows)
    return f"{prefix}{count + 1}"


def _last_running_agent(files: SessionFiles, event: HarnessEvent, rows: Sequence[tracker.Row]) -> str:
    """Return the running agent of this role and session that was started last."""
    mine = set(open_sessions.read_open_sessions(files).get(event.session, open_sessions.HarnessSession("", "")).agents)
    role = tracker.plain_role_name(event.agent)
    fitting = [
        str(row.get("agent_id"))
        for row in rows
        if row.get("agent_id") in mine and row.get("status") == "running" and row.get("agent_name", "") == role
    ]
    return fitting[-1] if fitting else ""


def _files_in_answer(files: SessionFiles, event: HarnessEvent) -> Iterator[str]:
    """Yield the files that an answer names: Gemini CLI lists there what its agent did, and nowhere else."""
    display = event.answer.get("returnDisplay") if isinstance(event.answer, Mapping) else None
    activity: Any = display.get("recentActivity") if isinstance(display, Mapping) else None
    for step in activity if isinstance(activity, list) else ():
        if isinstance(step, Mapping) and step.get("status") == "completed" and isinstance(step.get("args"), str):
            try:
                given = parse_json(step["args"].encode())
            except (Invalid, UnicodeEncodeError):
                continue
            if isinstance(given, dict):
                call = event._replace(tool=str(step.get("content", "")), given=given, failed=False)
                yield from files_changed_by_call(call, files.location.top)
