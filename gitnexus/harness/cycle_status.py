"""Reads the status of the cycle from `plan.json` and `tasks.json`, and formats it for an agent.

Errors in a file are reported in the result and not raised: others wrote the file, and the agent needs the rest.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.base.text import frame_text, one_line
from gitnexus.harness.session_files import SessionFiles

_TITLE = 120
_MOST = 30
_WIDE = 10_000  # a model has no edge at which a line would break


class IssueSummary(NamedTuple):
    """One issue of the plan."""

    id: int
    title: str
    decision: str | None


class PlanSummary(NamedTuple):
    """The open plan."""

    topic: str
    issues: tuple[IssueSummary, ...]

    @property
    def pending(self) -> list[IssueSummary]:
        """The issues that are not decided."""
        return [issue for issue in self.issues if issue.decision is None]


class TaskSummary(NamedTuple):
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


class CycleStatus(NamedTuple):
    """The open plan and tasks, and which files could not be read."""

    plan: PlanSummary | None
    goal: str
    tasks: tuple[TaskSummary, ...]
    has_tasks: bool
    broken: tuple[str, ...]

    @property
    def open_tasks(self) -> list[TaskSummary]:
        """The tasks that are not completed."""
        return [task for task in self.tasks if task.status != "completed"]

    @property
    def ready(self) -> list[TaskSummary]:
        """The tasks that can be started: pending, with all dependencies completed."""
        done = {task.id for task in self.tasks if task.status == "completed"}
        return [task for task in self.tasks if task.status == "pending" and set(task.deps) <= done]

    @property
    def is_open(self) -> bool:
        """True if there is a plan or a task."""
        return self.plan is not None or self.has_tasks or bool(self.broken)


def read_cycle_status(files: SessionFiles) -> CycleStatus:
    """Return the status of the plan and the tasks."""
    broken = []
    values: dict[str, Any] = {}
    for name in ("plan.json", "tasks.json"):
        try:
            values[name] = files.load_session_json(name)
        except NexusError as exc:
            broken.append(exc.message)
    plan, tasks = values.get("plan.json"), values.get("tasks.json")
    file = tasks if isinstance(tasks, dict) else {}
    return CycleStatus(
        _parse_plan(plan) if isinstance(plan, dict) else None,
        _text_field(file, "goal"),
        tuple(_parse_task(row) for row in _dict_rows(file, "tasks")),
        isinstance(tasks, dict),
        tuple(broken),
    )


def format_plan_line(plan: PlanSummary) -> str:
    """Return the plan as one line."""
    decided = len(plan.issues) - len(plan.pending)
    left = ", ".join(f"{issue.id}" for issue in plan.pending[:_MOST])
    todo = f"; to decide: {left}" if left else "; all decided"
    return f"Plan {_quote_line(plan.topic)}: {decided} of {len(plan.issues)} issues decided{todo}."


def format_tasks_line(found: CycleStatus) -> str:
    """Return the tasks as one line, with those that can be started."""
    done = len(found.tasks) - len(found.open_tasks)
    running = [task for task in found.tasks if task.status == "in_progress"]
    words = f"Tasks: {done} of {len(found.tasks)} completed"
    words += f"; in progress: {_join_task_titles(running)}" if running else ""
    return words + (f"; ready: {_join_task_titles(found.ready)}." if found.ready else "; none ready.")


def format_plan_issues(plan: PlanSummary) -> list[str]:
    """Return the plan with every issue on a line."""
    rows = [
        f"│ {issue.id}. {one_line(issue.title, _TITLE)}: "
        + ("pending" if issue.decision is None else f"decided: {one_line(issue.decision, 2 * _TITLE)}")
        for issue in plan.issues[:_MOST]
    ]
    return [format_plan_line(plan), *rows, *_remainder_line(len(plan.issues))]


def format_task_list(found: CycleStatus) -> list[str]:
    """Return the tasks, one line each."""
    goal = [f"│ goal: {one_line(found.goal, 2 * _TITLE)}"] if found.goal else []
    rows = [
        f"│ {task.id}. [{one_line(task.status, 20)}] {one_line(task.title, _TITLE)}"
        + (f" (after {', '.join(map(str, task.deps))})" if task.deps else "")
        + (f" · {one_line(task.owner, 40)}" if task.owner else "")
        for task in found.tasks[:_MOST]
    ]
    return [format_tasks_line(found), *goal, *rows, *_remainder_line(len(found.tasks))]


def format_task_brief(task: TaskSummary, most: int = 3000) -> str:
    """Return the text of a task for its agent, without empty parts."""
    lines = [f"TASK: {one_line(task.title, 300)}"]
    for word, text in (("CONTEXT", task.context), ("APPROACH", task.approach), ("ACCEPTANCE", task.acceptance)):
        if text:
            lines += [f"{word}:", *frame_text(text if len(text) <= most else f"{text[:most]} … (cut here)", _WIDE)]
    return "\n".join(lines)


def _remainder_line(count: int) -> list[str]:
    return [f"│ … and {count - _MOST} more"] if count > _MOST else []


def _join_task_titles(tasks: list[TaskSummary]) -> str:
    shown = ", ".join(f"{task.id} {_quote_line(task.title, 60)}" for task in tasks[:5])
    return shown + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")


def _quote_line(text: str, limit: int = _TITLE) -> str:
    return f"“{one_line(text, limit)}”"


def _parse_plan(value: Mapping[str, Any]) -> PlanSummary:
    issues = tuple(
        IssueSummary(
            _int_field(row, "id"),
            _text_field(row, "title"),
            (_text_field(row, "decision") or "(no words)") if row.get("status") == "decided" else None,
        )
        for row in _dict_rows(value, "issues")
    )
    return PlanSummary(_text_field(value, "topic"), issues)


def _parse_task(row: Mapping[str, Any]) -> TaskSummary:
    deps = row.get("deps")
    return TaskSummary(
        _int_field(row, "id"),
        _text_field(row, "title"),
        _text_field(row, "context"),
        _text_field(row, "status") or "pending",
        tuple(dep for dep in deps if type(dep) is int) if isinstance(deps, list) else (),
        _text_field(row, "approach"),
        _text_field(row, "acceptance"),
        _text_field(row, "owner"),
        _text_field(row, "owner_agent_id"),
        _text_field(row, "owner_reuse_policy"),
    )


def _dict_rows(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = value.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _text_field(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _int_field(row: Mapping[str, Any], key: str) -> int:
    value = row.get(key)
    return value if type(value) is int else 0
