"""The end of a session: what is still open is told, its agents are forgotten, those of others are not."""

from gitnexus.harness import edits, links, mail, tracker
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.model import Answer, Happening
from gitnexus.harness.shelf import Shelf, shelf_of
from gitnexus.harness.standing import Standing, plan_line, standing, tasks_line

_STOPS = ("Stop",)


def ended(told: Happening) -> Answer:
    """Tell what is open; at the real end put away what was this session's alone. Raises: NexusError, OSError."""
    shelf = shelf_of(told)
    if shelf is None:
        return Answer()
    if told.name in _STOPS:
        return _nudged(shelf, told)
    _put_away(shelf, told.session)
    return Answer(notice=warning(standing(shelf)))


def warning(found: Standing) -> str:
    """Return what a person should know before they leave, nothing if all is done."""
    said = []
    if found.plan is not None:
        said.append(plan_line(found.plan))
    if found.open_tasks:
        said.append(tasks_line(found))
    if not said:
        return ""
    return "git nexus: this stays open. " + " ".join(said) + " nx_task_close archives it as it is."


def _nudged(shelf: Shelf, told: Happening) -> Answer:
    """An agent stops after every message: once in a session is enough."""
    said = "" if told.again else warning(standing(shelf))
    if not said:
        return Answer()
    with shelf.exclusive():
        sessions = open_sessions.sessions_in(shelf)
        mine = open_sessions.seen(sessions, told.session)
        open_sessions.put(shelf, {**sessions, told.session: mine._replace(nudged=True)})
    return Answer(notice="" if mine.nudged else said)


def _put_away(shelf: Shelf, session: str) -> None:
    mine = open_sessions.sessions_in(shelf).get(session)
    mail.forget(shelf, session, mine.agents if mine else ())
    with shelf.exclusive():
        before = open_sessions.sessions_in(shelf)
        after = open_sessions.living({key: row for key, row in before.items() if key != session})
        known = {agent for row in before.values() for agent in row.agents}
        owned = {agent for row in after.values() for agent in row.agents}
        rows = tracker.kept(tracker.rows_in(shelf), owned, known) if after else []
        left = {str(row.get("agent_id")) for row in rows}
        open_sessions.put(shelf, after)
        links.put(shelf, {agent: task for agent, task in links.links_in(shelf).items() if agent in left})
        if after:
            tracker.put(shelf, rows)
            return
        for name in (tracker.FILE, edits.TRACKER, mail.BOX):
            shelf.drop(name)
