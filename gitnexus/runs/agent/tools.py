"""The tools of one run, written by hand: what its agent reads, proposes and asks."""

import json
from collections.abc import Mapping
from typing import Any

from gitnexus.app import proposing
from gitnexus.app.runact import GATE, bench_for
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import Busy, Conflict, DeniedByPolicy, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.base.tool import Param, Tool, checked
from gitnexus.events.kinds import short
from gitnexus.events.view import ActionView
from gitnexus.gateway.table import TOOLS as GATEWAY
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_values

MOST_PATIENCE = 50
# Every call leaves an event behind; an agent that never stops calling must not fill the disk.
MOST_EVENTS = 20_000
_OUTPUT = 32 * 1024

_SUMMARY = Param("summary", "text", "What it is for, in a line. Shown to whoever approves, and not believed.")
_PATIENCE = Param("wait", "number", f"How many seconds to wait for a person if one has to answer, at most "
                  f"{MOST_PATIENCE}; none if not said.")  # fmt: skip


def _patch(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        raw = given["patch"].encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise Invalid("patch holds half of a surrogate pair") from exc
    return told(desk, proposing.patch(desk, raw, given.get("summary", ""), given.get("replaces", "")))


def _command(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    return told(desk, proposing.command(desk, given["argv"], given.get("summary", ""), given))


def _handoff(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    return told(desk, proposing.handoff(desk, given["to"], given["message"], given.get("summary", "")))


def _ask(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    return told(desk, proposing.ask(desk, given["question"]))


def _read(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    path = given.get("path", "")
    rest = {name: value for name, value in given.items() if name != "path"}
    if path and not path.endswith("/"):
        return GATEWAY["repo.read_file"].run(bench_for(desk), given)
    below = path.rstrip("/")
    return GATEWAY["repo.list_tree"].run(bench_for(desk), {**rest, **({"path": below} if below else {})})


def _search(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    return GATEWAY["repo.search"].run(bench_for(desk), given)


def _diff(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    return GATEWAY["git.diff"].run(bench_for(desk), given)


def _status(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    if given.get("id"):
        return told(desk, given["id"])
    view = desk.view()
    return {
        "run": desk.run.id,
        "status": view.status,
        "actions": [_short(name, one) for name, one in view.actions.items()],
        "questions": [{"question": name, "text": text} for name, text in view.questions.items()],
    }


def _wait(desk: RunDesk, given: Mapping[str, Any]) -> dict[str, Any]:
    return told(desk, given["id"])


_ALL: tuple[Tool[RunDesk], ...] = (
    Tool(
        "propose_patch",
        "Propose a change of files: a unified diff on the last commit of this run's branch. Approved, it is committed "
        "there and brought into the files. One patch waits at a time.",
        (
            Param("patch", "text", "The diff, as git writes it.", required=True),
            _SUMMARY,
            Param("replaces", "text", "A patch of yours that waits, such as a2: it is given up for this one."),
            _PATIENCE,
        ),
        _patch,
        destructive=True,
    ),
    Tool(
        "propose_command",
        "Propose to run one program in the sandbox, on the files of this run. There is no shell.",
        (
            Param("argv", "texts", "The program and its arguments, each as it is.", required=True),
            Param("cwd", "text", "The folder to run in, from the top of the worktree."),
            Param("env", "text map", "Variables to set, by names that are allowed."),
            Param("stdin", "text", "What it reads."),
            Param("seconds", "number", "When to end it; the policy's own limit holds if it is lower."),
            Param("network", "text", "What it may reach; none if not said.", choices=("none", "loopback", "full")),
            _SUMMARY,
            _PATIENCE,
        ),
        _command,
        destructive=True,
    ),
    Tool(
        "handoff",
        "Propose that another agent or role goes on from here, in the same worktree, once you have ended and all "
        "that you proposed is answered.",
        (
            Param(
                "to",
                "text",
                "An agent by its name, such as claude, or a role that your own program takes on.",
                required=True,
            ),
            Param("message", "text", "What it has to do and to know: its prompt.", required=True),
            _SUMMARY,
            _PATIENCE,
        ),
        _handoff,
    ),
    Tool(
        "ask",
        "Ask a person. Without an answer yet, go on with what does not need it and look again with wait.",
        (Param("question", "text", "The question, in full.", required=True), _PATIENCE),
        _ask,
    ),
    Tool(
        "read",
        "Read lines of a file with secrets hidden; a path that ends in /, or none, lists files.",
        (
            Param("path", "text", "The file or the folder, from the top of the repository."),
            *(one for one in GATEWAY["repo.read_file"].params if one.name != "path"),
        ),
        _read,
        reads_only=True,
    ),
    Tool("search", GATEWAY["repo.search"].words, GATEWAY["repo.search"].params, _search, reads_only=True),
    Tool("diff", GATEWAY["git.diff"].words, GATEWAY["git.diff"].params, _diff, reads_only=True),
    Tool(
        "status",
        "Tell what became of what you proposed and asked.",
        (Param("id", "text", "One action or question, such as a2 or q1; all if not said."),),
        _status,
        reads_only=True,
    ),
    Tool(
        "wait",
        "Wait until a person has answered.",
        (Param("id", "text", "The action or the question, such as a2 or q1.", required=True), _PATIENCE),
        _wait,
        reads_only=True,
    ),
)

TOOLS: dict[str, Tool[RunDesk]] = {tool.name: tool for tool in _ALL}


def call(desk: RunDesk, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool as an agent calls it. Raises: NexusError."""
    tool = TOOLS.get(name)
    if tool is None:
        raise NotFound(f"there is no tool {one_line(name, 40)!r}", hint=f"there are: {', '.join(TOOLS)}")
    last = desk.log.last()
    if last is not None and last.seq > MOST_EVENTS:
        raise Busy(f"the log of {desk.run.id} is full", hint="end here; a person can begin another run")
    try:
        return tool.run(desk, checked(tool, given))
    except (Invalid, Conflict, DeniedByPolicy) as exc:
        if not tool.reads_only:
            # Never an action, so it has no name of its own; but somebody tried, and that is worth knowing.
            why = short(mask(exc.message, known_values()), 1000)
            desk.log.append("action.rejected", GATE, {"action": name, "why": why, "error": exc.name})
        raise


def told(desk: RunDesk, name: str) -> dict[str, Any]:
    """Return what became of an action or a question, for the agent. Raises: NotFound."""
    view = desk.view()
    one = view.actions.get(name)
    if one is not None:
        return {**_short(name, one), **_result(desk, name)}
    if name in view.questions:
        return {"question": name, "status": "waiting"}
    for event in desk.log.read():
        if event.kind == "question.answered" and event.body["question"] == name:
            return {"question": name, "status": "answered", "answer": event.body["text"]}
    raise NotFound(f"there is no action and no question {one_line(name, 40)!r}", hint="status without an id lists them")


def _short(name: str, one: ActionView) -> dict[str, Any]:
    found: dict[str, Any] = {"action": name, "kind": one.kind, "status": one.status, "summary": one.summary}
    for key, value in (("why", one.why), ("commit", one.commit)):
        if value:
            found[key] = value
    return found


def _result(desk: RunDesk, action: str) -> dict[str, Any]:
    """Return the gate's reason, and how a command ended with the end of its output."""
    found: dict[str, Any] = {}
    for event in desk.log.read():
        if event.kind == "action.proposed" and event.body.get("replaces") == action:
            found["why"] = f"{event.body['action']} replaces it"
        if event.body.get("action") != action:
            continue
        if event.kind == "action.judged" and event.body["verdict"] != "allow":
            found |= {"rule": event.body["rule"], "why": event.body["why"]}
        elif event.kind in ("permission.denied", "action.rejected"):
            found["why"] = event.body.get("why", "")
        elif event.kind == "tool.executed":
            found.pop("why", None)
            found.pop("rule", None)
            found["ok"] = event.body["ok"]
            for of in event.body.get("artifacts", ())[:1]:
                whole = json.loads(desk.artifacts.read(of))
                output = whole.pop("output", "")
                found |= {"exit": whole.get("status"), "output": output[-_OUTPUT:]}
                if len(output) > _OUTPUT or whole.get("cut"):
                    found["cut"] = max(0, len(output) - _OUTPUT) + whole.get("cut", 0)
    return found
