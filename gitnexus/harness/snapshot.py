"""All that an agent must know of the session again after its memory was made shorter, read afresh from the files."""

from collections.abc import Sequence

from gitnexus.base.text import one_line
from gitnexus.harness import knowledge, links, mail, tracker
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.model import Answer, Happening
from gitnexus.harness.moment import seconds_since, stamp
from gitnexus.harness.shelf import Shelf, shelf_of
from gitnexus.harness.standing import Standing, plan_lines, standing, task_lines

_TITLE = "git nexus: the conversation was compacted; this is where the session stands, from its files:"
# PostCompact comes after the start that follows a compaction: so soon after it, all was said.
_SAME = 60
_MOST = 30


def compacted(told: Happening) -> Answer:
    """Tell where things stand, here if the program listens, else with the next that it listens to."""
    shelf = shelf_of(told)
    if shelf is None or (told.harness == "gemini-cli" and told.source != "manual"):
        return Answer()  # Gemini CLI tells it before every turn, and nearly always compacts nothing
    if not told.hears and seconds_since(open_sessions.sessions_in(shelf).get(told.session, _NEVER).snapshot_at) < _SAME:
        return Answer()
    text = snapshot(shelf, told.session)
    if not told.hears:
        mail.put(shelf, told.reader, text, "snapshot")
        return Answer()
    mail.take(shelf, told.reader, "snapshot")
    with shelf.exclusive():
        sessions = open_sessions.sessions_in(shelf)
        sessions[told.session] = open_sessions.seen(sessions, told.session)._replace(snapshot_at=stamp())
        open_sessions.put(shelf, sessions)
    return Answer(context=text)


def snapshot(shelf: Shelf, session: str) -> str:
    """Return skill, plan, tasks, agents and what is known. Raises: Invalid."""
    found = standing(shelf)
    mine = open_sessions.sessions_in(shelf).get(session, _NEVER)
    parts = [
        _TITLE,
        f"Skill: {one_line(mine.skill, 80) or 'none'}.",
        "\n".join(plan_lines(found.plan)) if found.plan else "Plan: none.",
        "\n".join(task_lines(found)) if found.has_tasks else "Tasks: none.",
        *found.broken,
        "\n".join(agent_lines(tracker.rows_in(shelf), links.links_in(shelf), found)),
        knowledge.told(shelf.root),
    ]
    return "\n".join(part for part in parts if part)


def agent_lines(rows: Sequence[tracker.Row], linked: dict[str, int], found: Standing) -> list[str]:
    """Return the agents by name, a line each, with their id, their task and how they stand."""
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


_NEVER = open_sessions.Session("", "")
