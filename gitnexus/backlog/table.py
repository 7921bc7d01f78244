"""The table of backlog tools for agents."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gitnexus.backlog import add as adding
from gitnexus.backlog import claim as claiming
from gitnexus.backlog import close, show
from gitnexus.backlog import next as ranking
from gitnexus.backlog import update as updating
from gitnexus.backlog.claimant import agent_claimant
from gitnexus.backlog.fields import TaskFields
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.reference import parse_single_reference
from gitnexus.backlog.store import Backlog
from gitnexus.base.errors import Invalid
from gitnexus.base.tool import Tool

Params = Mapping[str, Any]


def _require_local_id(backlog: Backlog, text: str) -> str:
    reference = parse_single_reference(text)
    if reference.project is None or backlog.elsewhere.own(reference.project):
        return reference.task
    raise Invalid(f"{text} is a task of another project")


def _task_as_json(backlog: Backlog, task: BacklogTask) -> dict[str, Any]:
    return show.task_detail(task, backlog.tasks(), backlog.clock(), backlog.elsewhere)[1]


def _add_task(backlog: Backlog, params: Params) -> dict[str, Any]:
    return {"task": adding.add_task(backlog, TaskFields.of(params)).shown()}


def _list_tasks(backlog: Backlog, params: Params) -> dict[str, Any]:
    status = (params["status"],) if "status" in params else ()
    parent = _require_local_id(backlog, params["parent"]) if "parent" in params else None
    wanted = show.TaskListFilter(status, tuple(params.get("labels", ())), parent, params.get("ready", False))
    tasks = backlog.tasks()
    found = show.list_task_views(tasks, wanted, backlog.clock(), backlog.elsewhere)
    limit = params.get("limit", 50)
    if limit < 1:
        raise Invalid("limit should be at least 1")
    return {"tasks": [view.plain() for view in found[:limit]], "total": len(found)}


def _show_task(backlog: Backlog, params: Params) -> dict[str, Any]:
    return {"task": _task_as_json(backlog, backlog.tasks().task(_require_local_id(backlog, params["task"])))}


def _update_task(backlog: Backlog, params: Params) -> dict[str, Any]:
    less = TaskFields.of({name: params.get(f"remove_{name}") for name in ("labels", "files", "depends")})
    task = updating.update_task(backlog, _require_local_id(backlog, params["task"]), TaskFields.of(params), less)
    return {"task": task.shown()}


def _complete_task(backlog: Backlog, params: Params) -> dict[str, Any]:
    task = close.complete_task(backlog, _require_local_id(backlog, params["task"]), params.get("note"))
    return {"task": task.shown(), "nowReady": [other.id for other in close.newly_ready_tasks(backlog, task)]}


def _next_task(backlog: Backlog, params: Params) -> dict[str, Any]:
    who = agent_claimant(params["agent"]) if "agent" in params else None
    name = lru_cache(lambda: (who or backlog.claimant()).name)
    found = ranking.rank_tasks(backlog.tasks(), name, backlog.clock(), backlog.elsewhere)
    return ranking.ranking_as_json(found)


def _claim_task(backlog: Backlog, params: Params) -> dict[str, Any]:
    who = agent_claimant(params["agent"]) if "agent" in params else None
    task_id = _require_local_id(backlog, params["task"])
    if params.get("release", False):
        return {"task": claiming.release_task(backlog, task_id, who).shown(), "claimed": False}
    ttl = claiming.parse_claim_duration(params.get("ttl", claiming.DEFAULT_TTL))
    task = claiming.claim_task(backlog, task_id, ttl, who, renew=params.get("renew", False))
    return {"task": task.shown(), "claimed": True}


_FORMS = "gitnexus.backlog.parameters"
_RESULTS = "gitnexus.backlog.results"

_ALL = (
    Tool(
        "backlog_add",
        "Add a task to the project's backlog, which outlives this cycle.",
        f"{_FORMS}:BacklogAddParameters",
        _add_task,
        result=f"{_RESULTS}:BacklogTaskResult",
    ),
    Tool(
        "backlog_list",
        "List the open tasks of the backlog, with those that can be started now.",
        f"{_FORMS}:BacklogListParameters",
        _list_tasks,
        reads_only=True,
        result=f"{_RESULTS}:BacklogListResult",
    ),
    Tool(
        "backlog_show",
        "Show a task of the backlog and what is around it.",
        f"{_FORMS}:BacklogShowParameters",
        _show_task,
        reads_only=True,
        result=f"{_RESULTS}:BacklogShowResult",
    ),
    Tool(
        "backlog_update",
        "Change a task of the backlog: texts are replaced, lists are extended.",
        f"{_FORMS}:BacklogUpdateParameters",
        _update_task,
        result=f"{_RESULTS}:BacklogUpdateResult",
    ),
    Tool(
        "backlog_complete",
        "Complete a task of the backlog; refused while a dependency or a task below it is open.",
        f"{_FORMS}:BacklogCompleteParameters",
        _complete_task,
        result=f"{_RESULTS}:BacklogCompleteResult",
    ),
    Tool(
        "backlog_next",
        "Return the task of the backlog to do next, and why.",
        f"{_FORMS}:BacklogNextParameters",
        _next_task,
        reads_only=True,
        result=f"{_RESULTS}:BacklogNextResult",
    ),
    Tool(
        "backlog_claim",
        "Claim a task of the backlog for a time, so that no other agent works on it; or release it.",
        f"{_FORMS}:BacklogClaimParameters",
        _claim_task,
        result=f"{_RESULTS}:BacklogClaimResult",
    ),
)

TOOLS: dict[str, Tool[Backlog]] = {tool.name: tool for tool in _ALL}
