"""Ends a session: reports open work and removes its agents from the tracker, but not those of other sessions."""

from gitnexus.harness import agent_tasks, edits, pending_messages, tracker
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.cycle_status import CycleStatus, format_plan_line, format_tasks_line, read_cycle_status
from gitnexus.harness.model import HarnessEvent, HookAnswer
from gitnexus.harness.session_files import SessionFiles, find_session_files

_STOPS = ("Stop",)


def handle_session_end(event: HarnessEvent) -> HookAnswer:
    """Report open work; at the final end remove the files of this session alone. Raises: NexusError, OSError."""
    files = find_session_files(event)
    if files is None:
        return HookAnswer()
    if event.name in _STOPS:
        return _remind_once(files, event)
    _remove_session_state(files, event.session)
    return HookAnswer(notice=format_open_work(read_cycle_status(files)))


def format_open_work(found: CycleStatus) -> str:
    """Return what the user should know before leaving, empty if everything is done."""
    said = []
    if found.plan is not None:
        said.append(format_plan_line(found.plan))
    if found.open_tasks:
        said.append(format_tasks_line(found))
    if not said:
        return ""
    return "git nexus: this stays open. " + " ".join(said) + " nx_task_close archives it as it is."


def _remind_once(files: SessionFiles, event: HarnessEvent) -> HookAnswer:
    """Return a reminder of open work, once in a session: an agent stops after every message."""
    said = "" if event.again else format_open_work(read_cycle_status(files))
    if not said:
        return HookAnswer()
    with files.exclusive():
        sessions = open_sessions.read_open_sessions(files)
        mine = open_sessions.session_seen_now(sessions, event.session)
        open_sessions.write_open_sessions(files, {**sessions, event.session: mine._replace(nudged=True)})
    return HookAnswer(notice="" if mine.nudged else said)


def _remove_session_state(files: SessionFiles, session: str) -> None:
    mine = open_sessions.read_open_sessions(files).get(session)
    pending_messages.drop_session_messages(files, session, mine.agents if mine else ())
    with files.exclusive():
        before = open_sessions.read_open_sessions(files)
        if session in before:
            open_sessions.keep_skill(files, session, before[session].skill)
        after = open_sessions.without_stale_sessions({key: row for key, row in before.items() if key != session})
        known = {agent for row in before.values() for agent in row.agents}
        owned = {agent for row in after.values() for agent in row.agents}
        rows = tracker.agents_to_keep(tracker.read_tracked_agents(files), owned, known) if after else []
        left = {str(row.get("agent_id")) for row in rows}
        open_sessions.write_open_sessions(files, after)
        agent_tasks.write_agent_tasks(
            files, {agent: task for agent, task in agent_tasks.read_agent_tasks(files).items() if agent in left}
        )
        if after:
            tracker.write_tracked_agents(files, rows)
            return
        for name in (tracker.FILE, edits.TRACKER, pending_messages.BOX):
            files.drop(name)
