"""Builds the text that an agent needs after its context was compacted, read again from the session's files."""

from collections.abc import Sequence

from gitnexus.base.text import one_line
from gitnexus.harness import agent_tasks, knowledge, pending_messages, tracker
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.cycle_status import CycleStatus, format_plan_issues, format_task_list, read_cycle_status
from gitnexus.harness.model import HarnessEvent, HookAnswer
from gitnexus.harness.moment import format_timestamp, seconds_since
from gitnexus.harness.session_files import SessionFiles, find_session_files

_TITLE = "git nexus: the conversation was compacted; this is the status of the session, from its files:"
# PostCompact comes after the start that follows a compaction: so soon after it, all was said.
_SAME = 60
_MOST = 30


def handle_compaction(event: HarnessEvent) -> HookAnswer:
    """Return the snapshot as the answer if the program accepts it here; else queue it for the next event that does."""
    files = find_session_files(event)
    if files is None or (event.harness == "gemini-cli" and event.source != "manual"):
        return HookAnswer()  # Gemini CLI tells it before every turn, and nearly always compacts nothing
    if (
        not event.hears
        and seconds_since(open_sessions.read_open_sessions(files).get(event.session, _NEVER).snapshot_at) < _SAME
    ):
        return HookAnswer()
    text = build_session_snapshot(files, event.session)
    if not event.hears:
        pending_messages.add_pending_message(files, event.reader, text, "snapshot")
        return HookAnswer()
    pending_messages.take_pending_messages(files, event.reader, "snapshot")
    with files.exclusive():
        sessions = open_sessions.read_open_sessions(files)
        sessions[event.session] = open_sessions.session_seen_now(sessions, event.session)._replace(
            snapshot_at=format_timestamp()
        )
        open_sessions.write_open_sessions(files, sessions)
    return HookAnswer(context=text)


def build_session_snapshot(files: SessionFiles, session: str) -> str:
    """Return the skill, plan, tasks, agents and knowledge as text. Raises: Invalid."""
    found = read_cycle_status(files)
    mine = open_sessions.read_open_sessions(files).get(session, _NEVER)
    parts = [
        _TITLE,
        f"Skill: {one_line(mine.skill, 80) or 'none'}.",
        "\n".join(format_plan_issues(found.plan)) if found.plan else "Plan: none.",
        "\n".join(format_task_list(found)) if found.has_tasks else "Tasks: none.",
        *found.broken,
        "\n".join(format_agent_list(tracker.read_tracked_agents(files), agent_tasks.read_agent_tasks(files), found)),
        knowledge.format_knowledge_index(files.root),
    ]
    return "\n".join(part for part in parts if part)


def format_agent_list(rows: Sequence[tracker.Row], linked: dict[str, int], found: CycleStatus) -> list[str]:
    """Return the agents by name, one line each, with id, task and status."""
    if not rows:
        return ["Agents: none."]
    lines = []
    for row in rows[-_MOST:]:
        agent_id = str(row.get("agent_id", ""))
        name = str(row.get("agent_name") or "agent without a role")
        task = linked.get(agent_id)
        title = next((f" “{one_line(one.title, 60)}”" for one in found.tasks if one.id == task), "")
        lines.append(
            f"│ {one_line(name, 60)} ({one_line(agent_id, 80)}): {one_line(str(row.get('status', '')), 20)}"
            + (f", task {task}{title}" if task is not None else "")
        )
    running = sum(row.get("status") == "running" for row in rows)
    return [f"Agents: {len(rows)}, {running} at work.", *lines]


_NEVER = open_sessions.HarnessSession("", "")
