"""The start of a session: its folder, its tracker, and what an earlier one left behind."""

from typing import NamedTuple

from gitnexus.harness import knowledge, tracker
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.model import Happening
from gitnexus.harness.shelf import Shelf
from gitnexus.harness.standing import Standing, plan_line, standing, tasks_line

# A session that is taken up again, or split off from one, did not lose what it had.
_GOES_ON = ("resume", "fork")


class Begun(NamedTuple):
    """What is said at the start: to the model, and to the person if something was left behind."""

    context: str
    warning: str


def begun(shelf: Shelf, told: Happening) -> Begun:
    """Make the session known and its tracker ready; return what is to be said. Raises: NexusError, OSError."""
    others = _opened(shelf, told)
    found = standing(shelf)
    left = _left(found, bool(others), told.source in _GOES_ON)
    parts = [left, *_where(found), *found.broken, knowledge.told(shelf.root)]
    return Begun("\n".join(part for part in parts if part), left if not others and told.source not in _GOES_ON else "")


def _opened(shelf: Shelf, told: Happening) -> open_sessions.Sessions:
    """Write down that the session is open; return the others that are."""
    with shelf.exclusive():
        before = open_sessions.sessions_in(shelf)
        after = open_sessions.living(before)
        mine = open_sessions.seen(after, told.session)
        if told.source not in _GOES_ON:
            mine = open_sessions.Session(mine.seen_at, mine.seen_at)
        others = {key: row for key, row in after.items() if key != told.session}
        known = {agent for row in before.values() for agent in row.agents}
        owned = {agent for row in [*others.values(), mine] for agent in row.agents}
        tracker.put(shelf, tracker.kept(tracker.rows_in(shelf), owned, known))
        open_sessions.put(shelf, {**others, told.session: mine})
    return others


def _left(found: Standing, shared: bool, goes_on: bool) -> str:
    names = [*(["a plan"] if found.plan else []), *(["tasks"] if found.has_tasks else [])]
    if not names:
        return ""
    what = " and ".join(names)
    if goes_on:
        return f"git nexus: {what} of this session are open."
    if shared:
        return f"git nexus: {what} are open, and another session is at work on them."
    return f"git nexus: an earlier session left {what} open: go on with it, or archive it with nx_task_close."


def _where(found: Standing) -> list[str]:
    return [
        *([plan_line(found.plan)] if found.plan else []),
        *([tasks_line(found)] if found.has_tasks else []),
    ]
