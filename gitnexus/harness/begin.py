"""Starts a session: creates its folder and tracker, and reports what an earlier session left behind."""

from typing import NamedTuple

from gitnexus.base.text import one_line
from gitnexus.harness import knowledge, tracker
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.cycle_status import CycleStatus, format_plan_line, format_tasks_line, read_cycle_status
from gitnexus.harness.model import HarnessEvent
from gitnexus.harness.session_files import SessionFiles

# A session that is taken up again, or split off from one, did not lose what it had.
_GOES_ON = ("resume", "fork")


class SessionGreeting(NamedTuple):
    """The messages at the start: for the model, and for the user if an earlier session left something behind."""

    context: str
    warning: str


def begin_session(files: SessionFiles, event: HarnessEvent) -> SessionGreeting:
    """Record the session, create its tracker, and return the messages. Raises: NexusError, OSError."""
    others, skill = _record_open_session(files, event)
    found = read_cycle_status(files)
    left = _describe_leftover_work(found, bool(others), event.source in _GOES_ON)
    works = f"git nexus: this session is in the skill {one_line(skill, 80)}: continue with it." if skill else ""
    parts = [left, works, *_cycle_lines(found), *found.broken, knowledge.format_knowledge_index(files.root)]
    return SessionGreeting(
        "\n".join(part for part in parts if part), left if not others and event.source not in _GOES_ON else ""
    )


def _record_open_session(files: SessionFiles, event: HarnessEvent) -> tuple[open_sessions.Sessions, str]:
    """Record that the session is open; return the other open sessions, and the skill of this one."""
    with files.exclusive():
        before = open_sessions.read_open_sessions(files)
        after = open_sessions.without_stale_sessions(before)
        mine = open_sessions.session_seen_now(after, event.session)
        if event.source not in _GOES_ON:
            mine = open_sessions.HarnessSession(mine.seen_at, mine.seen_at)
        elif not mine.skill:
            mine = mine._replace(skill=open_sessions.kept_skill(files, event.session))
        others = {key: row for key, row in after.items() if key != event.session}
        known = {agent for row in before.values() for agent in row.agents}
        owned = {agent for row in [*others.values(), mine] for agent in row.agents}
        tracker.write_tracked_agents(files, tracker.agents_to_keep(tracker.read_tracked_agents(files), owned, known))
        open_sessions.write_open_sessions(files, {**others, event.session: mine})
    return others, mine.skill


def _describe_leftover_work(found: CycleStatus, shared: bool, goes_on: bool) -> str:
    names = [*(["a plan"] if found.plan else []), *(["tasks"] if found.has_tasks else [])]
    if not names:
        return ""
    what = " and ".join(names)
    if goes_on:
        return f"git nexus: {what} of this session are open."
    if shared:
        return f"git nexus: {what} are open, and another session is at work on them."
    return f"git nexus: an earlier session left {what} open: continue it, or archive it with nx_task_close."


def _cycle_lines(found: CycleStatus) -> list[str]:
    return [
        *([format_plan_line(found.plan)] if found.plan else []),
        *([format_tasks_line(found)] if found.has_tasks else []),
    ]
