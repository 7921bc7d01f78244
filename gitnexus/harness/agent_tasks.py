"""Which task an agent works on. The tracker may not say it, so it stands in `tasks.extension.json` beside it."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gitnexus.harness.shelf import Shelf
from gitnexus.harness.standing import Task

FILE = "tasks.extension.json"
_EXTENDS = "tasks.json"
_MOST = 500
# As people and skills name a task to an agent: "task 3", "Task #3", "TASK: its title".
_BY_NUMBER = re.compile(r"\btask\s+(?:#|no\.?\s*)?(\d{1,6})\b", re.IGNORECASE)
_BY_TITLE = re.compile(r"^\s*TASK:\s*(.+?)\s*$", re.MULTILINE)


def links_in(shelf: Shelf) -> dict[str, int]:
    """Return the task of each agent that has one. Raises: Invalid."""
    value = shelf.value(FILE)
    rows: Any = value.get("agents") if isinstance(value, dict) else None
    if not isinstance(rows, dict):
        return {}
    return {agent: row["task"] for agent, row in rows.items() if isinstance(row, dict) and type(row.get("task")) is int}


def put(shelf: Shelf, links: Mapping[str, int]) -> None:
    """Write them all; none leaves no file."""
    if links:
        rows = {agent: {"task": task} for agent, task in list(links.items())[-_MOST:]}
        shelf.store(FILE, {"extends": _EXTENDS, "agents": rows})
    else:
        shelf.drop(FILE)


def task_of(tasks: Sequence[Task], role: str, agent_id: str, brief: str, taken: Collection[int]) -> Task | None:
    """Return the task that an agent was started for, None where that is not plain.

    It is plain if the task names the agent, if the brief names one task, or if one open task alone is for this role.
    """
    for task in tasks:
        if agent_id and task.owner_agent_id == agent_id:
            return task
    named = _named(tasks, brief)
    if named:
        return named[0] if len(named) == 1 else None
    done = {task.id for task in tasks if task.status == "completed"}
    fitting = [
        task
        for task in tasks
        if role and task.owner == role and task.id not in taken and task.id not in done and set(task.deps) <= done
    ]
    return fitting[0] if len(fitting) == 1 else None


def _named(tasks: Sequence[Task], brief: str) -> list[Task]:
    titles = {title.casefold() for title in _BY_TITLE.findall(brief[:4000])}
    by_title = [task for task in tasks if task.title.strip().casefold() in titles]
    if by_title:
        return by_title
    numbers = {int(number) for number in _BY_NUMBER.findall(brief[:4000])}
    return [task for task in tasks if task.id in numbers]
