"""Reads and writes which task each agent works on: `tasks.extension.json`, beside the tracker with its fixed schema."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gitnexus.harness.cycle_status import TaskSummary
from gitnexus.harness.session_files import SessionFiles

FILE = "tasks.extension.json"
_EXTENDS = "tasks.json"
_MOST = 500
# As people and skills name a task to an agent: "task 3", "Task #3", "TASK: its title".
_BY_NUMBER = re.compile(r"\btask\s+(?:#|no\.?\s*)?(\d{1,6})\b", re.IGNORECASE)
_BY_TITLE = re.compile(r"^\s*TASK:\s*(.+?)\s*$", re.MULTILINE)


def read_agent_tasks(files: SessionFiles) -> dict[str, int]:
    """Return the task id of each agent that has one. Raises: Invalid."""
    value = files.value(FILE)
    rows: Any = value.get("agents") if isinstance(value, dict) else None
    if not isinstance(rows, dict):
        return {}
    return {agent: row["task"] for agent, row in rows.items() if isinstance(row, dict) and type(row.get("task")) is int}


def write_agent_tasks(files: SessionFiles, links: Mapping[str, int]) -> None:
    """Write all task ids; an empty mapping removes the file."""
    if links:
        rows = {agent: {"task": task} for agent, task in list(links.items())[-_MOST:]}
        files.store(FILE, {"extends": _EXTENDS, "agents": rows})
    else:
        files.drop(FILE)


def find_task_of_agent(
    tasks: Sequence[TaskSummary], role: str, agent_id: str, brief: str, taken: Collection[int]
) -> TaskSummary | None:
    """Return the task that an agent was started for, or None if it is not clear.

    It is clear if the task names the agent, if the brief names one task, or if only one open task is for this role.
    """
    for task in tasks:
        if agent_id and task.owner_agent_id == agent_id:
            return task
    named = _tasks_named_in_brief(tasks, brief)
    if named:
        return named[0] if len(named) == 1 else None
    done = {task.id for task in tasks if task.status == "completed"}
    fitting = [
        task
        for task in tasks
        if role and task.owner == role and task.id not in taken and task.id not in done and set(task.deps) <= done
    ]
    return fitting[0] if len(fitting) == 1 else None


def _tasks_named_in_brief(tasks: Sequence[TaskSummary], brief: str) -> list[TaskSummary]:
    titles = {title.casefold() for title in _BY_TITLE.findall(brief[:4000])}
    by_title = [task for task in tasks if task.title.strip().casefold() in titles]
    if by_title:
        return by_title
    numbers = {int(number) for number in _BY_NUMBER.findall(brief[:4000])}
    return [task for task in tasks if task.id in numbers]
