"""The tools of the backlog for agents, written by hand."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gitnexus.backlog import add as adding
from gitnexus.backlog import claim as claiming
from gitnexus.backlog import close, look
from gitnexus.backlog import next as ranking
from gitnexus.backlog import update as updating
from gitnexus.backlog.fields import Fields
from gitnexus.backlog.model import KINDS, PRIORITIES, STATUSES, BacklogTask
from gitnexus.backlog.reference import one
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.who import agent
from gitnexus.base.errors import Invalid
from gitnexus.base.tool import Param, Tool

Params = Mapping[str, Any]
_TASK = Param("task", "text", "The task: T12, or name:T12 of another project that permits it.", required=True)
_AGENT = Param("agent", "text", "Who calls; else what NEXUS_AGENT says, else the person whom git names.")
_SHARED = (
    Param("description", "text", "What one must know to do it."),
    Param("labels", "texts", "Words to find it by."),
    Param("files", "texts", "The files that it is about."),
    Param("acceptance", "texts", "How one sees that it is done."),
    Param("notes", "texts", "What was found out on the way; only ever added to."),
    Param("depends", "texts", "Tasks that must be done before: T12, or name:T12 of another project."),
    Param("parent", "text", "The task that it is a part of."),
    Param("priority", "text", "medium if not said.", choices=PRIORITIES),
    Param("type", "text", "What kind of task it is.", choices=KINDS),
    Param("phase", "text", "The phase of the project that it belongs to."),
    Param("size", "text", "How large it is: small, medium or large."),
    Param("blocked_by", "text", "What stands in the way; makes it blocked."),
)


def _local(backlog: Backlog, text: str) -> str:
    reference = one(text)
    if reference.project is None or backlog.elsewhere.own(reference.project):
        return reference.task
    raise Invalid(f"{text} is a task of another project")


def _shown(backlog: Backlog, task: BacklogTask) -> dict[str, Any]:
    return look.detail(task, backlog.tasks(), backlog.clock(), backlog.elsewhere)[1]


def _add(backlog: Backlog, params: Params) -> dict[str, Any]:
    return {"task": adding.add(backlog, Fields.of(params)).shown()}


def _list(backlog: Backlog, params: Params) -> dict[str, Any]:
    status = (params["status"],) if "status" in params else ()
    parent = _local(backlog, params["parent"]) if "parent" in params else None
    wanted = look.Filter(status, tuple(params.get("labels", ())), parent, params.get("ready", False))
    tasks = backlog.tasks()
    found = look.listing(tasks, wanted, backlog.clock(), backlog.elsewhere)
    limit = params.get("limit", 50)
    if limit < 1:
        raise Invalid("limit should be at least 1")
    return {"tasks": [view.plain() for view in found[:limit]], "total": len(found)}


def _show(backlog: Backlog, params: Params) -> dict[str, Any]:
    return {"task": _shown(backlog, backlog.tasks().task(_local(backlog, params["task"])))}


def _update(backlog: Backlog, params: Params) -> dict[str, Any]:
    less = Fields.of({name: params.get(f"remove_{name}") for name in ("labels", "files", "depends")})
    task = updating.update(backlog, _local(backlog, params["task"]), Fields.of(params), less)
    return {"task": task.shown()}


def _complete(backlog: Backlog, params: Params) -> dict[str, Any]:
    task = close.complete(backlog, _local(backlog, params["task"]), params.get("note"))
    return {"task": task.shown(), "nowReady": [other.id for other in close.freed(backlog, task)]}


def _next(backlog: Backlog, params: Params) -> dict[str, Any]:
    who = agent(params["agent"]) if "agent" in params else None
    name = lru_cache(lambda: (who or backlog.claimant()).name)
    found = ranking.outlook(backlog.tasks(), name, backlog.clock(), backlog.elsewhere)
    return ranking.told(found)


def _claim(backlog: Backlog, params: Params) -> dict[str, Any]:
    who = agent(params["agent"]) if "agent" in params else None
    task_id = _local(backlog, params["task"])
    if params.get("release", False):
        return {"task": claiming.release(backlog, task_id, who).shown(), "claimed": False}
    ttl = claiming.duration(params.get("ttl", claiming.DEFAULT_TTL))
    task = claiming.claim(backlog, task_id, ttl, who, renew=params.get("renew", False))
    return {"task": task.shown(), "claimed": True}


_ALL = (
    Tool(
        "backlog_add",
        "Add a task to the project's backlog, which outlives this cycle.",
        (Param("title", "text", "What is to be done, in one line.", required=True), *_SHARED),
        _add,
    ),
    Tool(
        "backlog_list",
        "List the open tasks of the backlog, with those that can be started now.",
        (
            Param("status", "text", "Only those in this status, closed ones too.", choices=STATUSES),
            Param("labels", "texts", "Only those that have all these labels."),
            Param("parent", "text", "Only those below this task."),
            Param("ready", "flag", "Only those that can be started now."),
            Param("limit", "number", "How many at most, 50 if not said."),
        ),
        _list,
        reads_only=True,
    ),
    Tool("backlog_show", "Show a task of the backlog and what is around it.", (_TASK,), _show, reads_only=True),
    Tool(
        "backlog_update",
        "Change a task of the backlog: texts are replaced, lists are added to.",
        (
            _TASK,
            Param("title", "text", "What is to be done, in one line."),
            *_SHARED,
            Param("status", "text", "Its new status.", choices=STATUSES),
            Param("remove_labels", "texts", "Labels to take away."),
            Param("remove_files", "texts", "Files to take away."),
            Param("remove_depends", "texts", "Dependencies to drop."),
        ),
        _update,
    ),
    Tool(
        "backlog_complete",
        "Complete a task of the backlog; refused while a dependency or a task below it is open.",
        (_TASK, Param("note", "text", "What came of it.")),
        _complete,
    ),
    Tool(
        "backlog_next",
        "Tell which task of the backlog to do next, and why.",
        (_AGENT,),
        _next,
        reads_only=True,
    ),
    Tool(
        "backlog_claim",
        "Claim a task of the backlog for a time, so that no other agent works on it; or let it go.",
        (
            _TASK,
            Param("ttl", "text", "How long: 90s, 30m, 2h, 1d. 1h if not said."),
            _AGENT,
            Param("renew", "flag", "Go on with a claim that is yours."),
            Param("release", "flag", "Let it go."),
        ),
        _claim,
    ),
)

TOOLS: dict[str, Tool[Backlog]] = {tool.name: tool for tool in _ALL}
