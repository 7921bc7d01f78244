"""Where the cycle stands, read from `plan.json` and `tasks.json` as they lie there.

What is wrong with a file is told and not raised: somebody else wrote it, and an agent must hear of the rest.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.base.text import framed, one_line
from gitnexus.harness.shelf import Shelf

_TITLE = 120
_MOST = 30
_WIDE = 10_000  # a model has no edge at which a line would break


class Issue(NamedTuple):
    """One question of the plan."""

    id: int
    title: str
    decision: str | None


class Plan(NamedTuple):
    """The open plan."""

    topic: str
    issues: tuple[Issue, ...]

    @property
    def pending(self) -> list[Issue]:
        """The issues that are not decided."""
        return [issue for issue in self.issues if issue.decision is None]


class Task(NamedTuple):
    """One task of the cycle."""

    id: int
    title: str
    context: str
    status: str
    deps: tuple[int, ...]
    approach: str
    acceptance: str
    owner: str
    owner_agent_id: str
    policy: str


class Standing(NamedTuple):
    """What is open, and which file could not be read."""

    plan: Plan | None
    goal: str
    tasks: tuple[Task, ...]
    has_tasks: bool
    broken: tuple[str, ...]

    @property
    def open_tasks(self) -> list[Task]:
        """The tasks that are not completed."""
        return [task for task in self.tasks if task.status != "completed"]

    @property
    def ready(self) -> list[Task]:
        """The tasks that can be begun: pending, and all that they wait for is completed."""
        done = {task.id for task in self.tasks if task.status == "completed"}
        return [task for task in self.tasks if task.status == "pending" and set(task.deps) <= done]

    @property
    def is_open(self) -> bool:
        """True if a plan or tasks are there."""
        return self.plan is not None or self.has_tasks or bool(self.broken)


def standing(shelf: Shelf) -> Standing:
    """Return where things stand."""
    broken = []
    values: dict[str, Any] = {}
    for name in ("plan.json", "tasks.json"):
        try:
            values[name] = shelf.session_value(name)
        except NexusError as exc:
            broken.append(exc.message)
    plan, tasks = values.get("plan.json"), values.get("tasks.json")
    file = tasks if isinstance(tasks, dict) else {}
    return Standing(
        _plan(plan) if isinstance(plan, dict) else None,
        _text(file, "goal"),
        tuple(_task(row) for row in _rows(file, "tasks")),
        isinstance(tasks, dict),
        tuple(broken),
    )


def plan_line(plan: Plan) -> str:
    """Return the plan in one line."""
    decided = len(plan.issues) - len(plan.pending)
    left = ", ".join(f"{issue.id}" for issue in plan.pending[:_MOST])
    todo = f"; to decide: {left}" if left else "; all decided"
    return f"Plan {_quoted(plan.topic)}: {decided} of {len(plan.issues)} issues decided{todo}."


def tasks_line(found: Standing) -> str:
    """Return the tasks in one line, with those that can be begun."""
    done = len(found.tasks) - len(found.open_tasks)
    running = [task for task in found.tasks if task.status == "in_progress"]
    words = f"Tasks: {done} of {len(found.tasks)} completed"
    words += f"; in progress: {_listed(running)}" if running else ""
    return words + (f"; ready: {_listed(found.ready)}." if found.ready else "; none ready.")


def plan_lines(plan: Plan) -> list[str]:
    """Return the plan with every issue, a line each."""
    rows = [
        f"│ {issue.id}. {one_line(issue.title, _TITLE)}: "
        + ("pending" if issue.decision is None else f"decided: {one_line(issue.decision, 2 * _TITLE)}")
        for issue in plan.issues[:_MOST]
    ]
    return [plan_line(plan), *rows, *_more(len(plan.issues))]


def task_lines(found: Standing) -> list[str]:
    """Return the tasks, a line each."""
    goal = [f"│ goal: {one_line(found.goal, 2 * _TITLE)}"] if found.goal else []
    rows = [
        f"│ {task.id}. [{one_line(task.status, 20)}] {one_line(task.title, _TITLE)}"
        + (f" (after {', '.join(map(str, task.deps))})" if task.deps else "")
        + (f" · {one_line(task.owner, 40)}" if task.owner else "")
        for task in found.tasks[:_MOST]
    ]
    return [tasks_line(found), *goal, *rows, *_more(len(found.tasks))]


def brief(task: Task, most: int = 3000) -> str:
    """Return what an agent is given of its task; a part that is empty is left out."""
    lines = [f"TASK: {one_line(task.title, 300)}"]
    for word, text in (("CONTEXT", task.context), ("APPROACH", task.approach), ("ACCEPTANCE", task.acceptance)):
        if text:
            lines += [f"{word}:", *framed(text if len(text) <= most else f"{text[:most]} … (cut here)", _WIDE)]
    return "\n".join(lines)


def _more(count: int) -> list[str]:
    return [f"│ … and {count - _MOST} more"] if count > _MOST else []


def _listed(tasks: list[Task]) -> str:
    shown = ", ".join(f"{task.id} {_quoted(task.title, 60)}" for task in tasks[:5])
    return shown + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")


def _quoted(text: str, limit: int = _TITLE) -> str:
    return f"“{one_line(text, limit)}”"


def _plan(value: Mapping[str, Any]) -> Plan:
    issues = tuple(
        Issue(_number(row, "id"), _text(row, "title"), (_text(row, "decision") or "(no words)")
              if row.get("status") == "decided" else None)
        for row in _rows(value, "issues")
    )  # fmt: skip
    return Plan(_text(value, "topic"), issues)


def _task(row: Mapping[str, Any]) -> Task:
    deps = row.get("deps")
    return Task(
        _number(row, "id"),
        _text(row, "title"),
        _text(row, "context"),
        _text(row, "status") or "pending",
        tuple(dep for dep in deps if type(dep) is int) if isinstance(deps, list) else (),
        _text(row, "approach"),
        _text(row, "acceptance"),
        _text(row, "owner"),
        _text(row, "owner_agent_id"),
        _text(row, "owner_reuse_policy"),
    )


def _rows(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = value.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _number(row: Mapping[str, Any], key: str) -> int:
    value = row.get(key)
    return value if type(value) is int else 0
