"""Sub-agents come and go: the tracker, the session that each belongs to, the task that it works on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Invalid
from gitnexus.harness import edits, links, mail, toollog, tracker
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.model import Happening
from gitnexus.harness.moment import stamp
from gitnexus.harness.shelf import Shelf
from gitnexus.harness.standing import Standing, Task, standing
from gitnexus.harness.touched import touched

CHECKS = frozenset({"tester", "reviewer"})


class Spawned(NamedTuple):
    """An agent that was started, and its task if it is plain which."""

    agent_id: str
    role: str
    task: Task | None
    standing: Standing


class Done(NamedTuple):
    """An agent that is done: its task, what it changed, and whether somebody looks at it."""

    agent_id: str
    role: str
    task: Task | None
    files: tuple[str, ...]
    unchecked: bool


def briefed(shelf: Shelf, told: Happening, role: str, brief: str) -> None:
    """Keep what an agent was asked to do until the program tells that it was started. Raises: Busy, OSError."""
    if brief:
        mail.put(shelf, _brief_key(told.session, tracker.plain_name(role)), brief[:4000], "brief")


def spawned(shelf: Shelf, told: Happening) -> Spawned | None:
    """Write an agent down; None where it is not said which. Raises: NexusError, OSError."""
    role = tracker.plain_name(told.agent)
    briefs = mail.take(shelf, _brief_key(told.session, role), "brief", first=True)
    found = standing(shelf)
    with shelf.exclusive():
        rows, sessions, linked = tracker.rows_in(shelf), open_sessions.sessions_in(shelf), links.links_in(shelf)
        agent_id = tracker.plain_id(told.agent_id) or _made_up(told, rows)
        if not agent_id:
            return None
        running = {row.get("agent_id") for row in rows if row.get("status") == "running"} - {agent_id}
        taken = {task for agent, task in linked.items() if agent in running}
        task = _still(found, linked.get(agent_id)) or links.task_of(
            found.tasks, role, agent_id, told.text or "".join(briefs), taken
        )
        mine = open_sessions.with_agent(open_sessions.seen(sessions, told.session), agent_id)
        tracker.put(shelf, tracker.started(rows, shelf.harness, role, agent_id, stamp()))
        open_sessions.put(shelf, {**sessions, told.session: mine})
        if task is not None:
            links.put(shelf, {**linked, agent_id: task.id})
    return Spawned(agent_id, role, task, found)


def done(shelf: Shelf, told: Happening) -> Done | None:
    """Write down that an agent is done and what it changed; None for one that nobody was told of. Raises: …"""
    found = standing(shelf)
    with shelf.exclusive():
        rows, linked = tracker.rows_in(shelf), links.links_in(shelf)
        agent_id = tracker.plain_id(told.agent_id) or _last(shelf, told, rows)
        row = tracker.found(rows, agent_id) if agent_id else None
        # Claude Code also tells of the agent that compacts, which it never told was started; an end may be told twice.
        if row is None or row.get("status") == "completed":
            return None
        moment = stamp()
        files = tuple(dict.fromkeys([*toollog.touched_by(shelf, agent_id), *_in_answer(shelf, told)]))
        tracker.put(shelf, tracker.completed(rows, agent_id, moment, told.text, files))
        if files:
            known = edits.files_in(shelf)
            new = [file for file in files if agent_id not in known.get(file, {})]
            shelf.store(edits.TRACKER, {"files": edits.noted(known, new, agent_id, moment)})
    role = str(row.get("agent_name", ""))
    task = _still(found, linked.get(agent_id))
    unchecked = task is not None and role not in CHECKS and _is_unchecked(task, found, rows, linked, row)
    return Done(agent_id, role, task, files, unchecked)


def _is_unchecked(
    task: Task, found: Standing, rows: Sequence[tracker.Row], linked: Mapping[str, int], mine: tracker.Row
) -> bool:
    """True if a task says how one sees that it is done, and nobody who looks was there or is going to be."""
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


def _still(found: Standing, task_id: int | None) -> Task | None:
    return next((task for task in found.tasks if task.id == task_id), None)


def _brief_key(session: str, role: str) -> str:
    return f"{session}/{role}"


def _made_up(told: Happening, rows: Sequence[tracker.Row]) -> str:
    """Return an id for an agent of a program that gives none."""
    if told.name in ("SubagentStart", "session.created"):
        return ""
    prefix = f"{tracker.plain_id(told.session)}:"
    count = sum(str(row.get("agent_id", "")).startswith(prefix) for row in rows)
    return f"{prefix}{count + 1}"


def _last(shelf: Shelf, told: Happening, rows: Sequence[tracker.Row]) -> str:
    """Return the agent of this role and session that was started last and is at work."""
    mine = set(open_sessions.sessions_in(shelf).get(told.session, open_sessions.Session("", "")).agents)
    role = tracker.plain_name(told.agent)
    fitting = [
        str(row.get("agent_id"))
        for row in rows
        if row.get("agent_id") in mine and row.get("status") == "running" and row.get("agent_name", "") == role
    ]
    return fitting[-1] if fitting else ""


def _in_answer(shelf: Shelf, told: Happening) -> Iterator[str]:
    """Yield the files that an answer names: Gemini CLI lists there what its agent did, and nowhere says who did it."""
    display = told.answer.get("returnDisplay") if isinstance(told.answer, Mapping) else None
    activity: Any = display.get("recentActivity") if isinstance(display, Mapping) else None
    for step in activity if isinstance(activity, list) else ():
        if isinstance(step, Mapping) and step.get("status") == "completed" and isinstance(step.get("args"), str):
            try:
                given = parse(step["args"].encode())
            except (Invalid, UnicodeEncodeError):
                continue
            if isinstance(given, dict):
                call = told._replace(tool=str(step.get("content", "")), given=given, failed=False)
                yield from touched(call, shelf.place.worktree)
