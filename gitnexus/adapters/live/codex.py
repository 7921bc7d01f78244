"""Live conversation with Codex as a server: it asks before commands and file changes. Tested with 0.166.0."""

import shlex
from typing import Any

from gitnexus.adapters.lines import (
    OutputAccount,
    as_count,
    as_mapping,
    as_shown_text,
    as_single_line,
    mappings_in_list,
    parse_json_line,
)
from gitnexus.adapters.live.protocol import MOST_OPEN, FileDiff, LineOutcome, PendingCall, encode_message
from gitnexus.adapters.protocol import AgentEnd, AgentEvent, AgentJob, Reason, prompt_text

_START, _THREAD, _TURN = 1, 2, 3
_COMMAND, _FILES = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"


class CodexConversation:
    """JSON-RPC without the `jsonrpc` field. The content of a file change arrives before the question about it."""

    def __init__(self, job: AgentJob) -> None:
        self._job = job
        self._account = OutputAccount()
        self._reason: Reason = "unfinished"
        self._changes: dict[str, tuple[FileDiff, ...]] = {}

    def opened(self) -> bytes:
        client = {"name": "git-nexus", "version": "1"}
        return encode_message({"method": "initialize", "id": _START, "params": {"clientInfo": client}})

    def feed(self, line: bytes) -> LineOutcome:
        found = parse_json_line(line)
        if found is None:
            return LineOutcome(tuple(self._account.noted(line)))
        method, params = found.get("method"), as_mapping(found.get("params"))
        if method is None:
            return self._on_response(found)
        if "id" in found:
            return self._on_request(found["id"], method, params)
        return self._on_notification(method, params)

    def answered(self, asked: PendingCall, *, yes: bool, why: str) -> bytes:
        # There is no room for a reason; `decline` lets the turn go on, where it is offered.
        return encode_message({"id": asked.id, "result": {"decision": asked.yes if yes else asked.no}})

    def end(self, status: int) -> AgentEnd:
        return self._account.ended(status, self._reason)

    def _on_response(self, found: dict[str, Any]) -> LineOutcome:
        error = as_mapping(found.get("error"))
        if "error" in found:
            self._reason = "failed"
            return LineOutcome(tuple(self._account.failed(error.get("message"))), over=True)
        result = as_mapping(found.get("result"))
        if found.get("id") == _START:
            return LineOutcome(out=encode_message({"method": "initialized"}) + encode_message(self._thread_request()))
        if found.get("id") == _THREAD:
            name = as_mapping(result.get("thread")).get("id")
            self._account.keep_session(name)
            turn = {"threadId": name, "input": [{"type": "text", "text": prompt_text(self._job)}]}
            out = encode_message({"method": "turn/start", "id": _TURN, "params": turn})
            return LineOutcome((AgentEvent(kind="progress", text="started"),), out=out)
        return LineOutcome()

    def _thread_request(self) -> dict[str, Any]:
        # Its own sandbox is off, as ours is around it; `untrusted` asks about all but what only looks.
        params = {"cwd": self._job.folder, "approvalPolicy": "untrusted", "sandbox": "danger-full-access"}
        if self._job.session:
            return {"method": "thread/resume", "id": _THREAD, "params": {**params, "threadId": self._job.session}}
        return {"method": "thread/start", "id": _THREAD, "params": params}

    def _on_request(self, name: Any, method: Any, params: dict[str, Any]) -> LineOutcome:
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            return LineOutcome()
        if method not in (_COMMAND, _FILES):
            return LineOutcome(out=encode_message({"id": name, "error": {"code": -32601, "message": "not known here"}}))
        offered = params.get("availableDecisions")
        no = "cancel" if isinstance(offered, list) and "decline" not in offered else "decline"
        item = as_single_line(params.get("itemId"))
        if method == _FILES:
            diffs = self._changes.get(item, ())
            return LineOutcome(
                asked=(PendingCall(id=name, tool="apply_patch", diffs=diffs, call=item, yes="accept", no=no),)
            )
        line, cwd = params.get("command"), as_path(params.get("cwd"))
        question = PendingCall(
            id=name, tool="exec_command", given=_command_as_input(line), call=item, cwd=cwd, yes="accept", no=no
        )
        return LineOutcome(asked=(question,))

    def _on_notification(self, method: Any, params: dict[str, Any]) -> LineOutcome:
        item = as_mapping(params.get("item"))
        match method:
            case "item/started":
                return LineOutcome(tuple(self._on_item_started(item)))
            case "item/completed":
                return LineOutcome(tuple(self._on_item_completed(item)))
            case "thread/tokenUsage/updated":
                total = as_mapping(as_mapping(params.get("tokenUsage")).get("total"))
                self._account.tokens_in = as_count(total.get("inputTokens"))
                self._account.tokens_out = as_count(total.get("outputTokens"))
            case "error":
                return LineOutcome(tuple(self._account.failed(as_mapping(params.get("error")).get("message"))))
            case "turn/completed":
                return self._on_turn_completed(as_mapping(params.get("turn")))
        return LineOutcome()

    def _on_turn_completed(self, turn: dict[str, Any]) -> LineOutcome:
        self._account.turns += 1
        if turn.get("status") == "completed":
            self._reason = "completed"
            return LineOutcome(tuple(self._account.used()), over=True)
        self._reason = "failed"
        told = as_mapping(turn.get("error")).get("message") or self._account.error or turn.get("status")
        return LineOutcome((*self._account.failed(told), *self._account.used()), over=True)

    def _on_item_started(self, item: dict[str, Any]) -> list[AgentEvent]:
        call = as_single_line(item.get("id"))
        match item.get("type"):
            case "fileChange":
                if len(self._changes) < MOST_OPEN:
                    self._changes[call] = tuple(_parse_file_diff(row) for row in mappings_in_list(item.get("changes")))
                names = ", ".join(as_path(row.get("path")) for row in mappings_in_list(item.get("changes")))
                return [AgentEvent(kind="tool_call", text=as_shown_text(names), tool="apply_patch", call=call)]
            case "commandExecution":
                return [
                    AgentEvent(kind="tool_call", text=as_shown_text(item.get("command")), tool="command", call=call)
                ]
            case "mcpToolCall":
                return [
                    AgentEvent(
                        kind="tool_call",
                        text=as_shown_text(item.get("arguments")),
                        tool=as_single_line(item.get("tool")),
                        call=call,
                    )
                ]
        return []

    def _on_item_completed(self, item: dict[str, Any]) -> list[AgentEvent]:
        call, ok = as_single_line(item.get("id")), item.get("status") not in ("failed", "declined")
        match item.get("type"):
            case "agentMessage":
                return self._account.said(item.get("text"))
            case "commandExecution":
                self._account.denials += item.get("status") == "declined"
                told = as_shown_text(item.get("aggregatedOutput"))
                return [AgentEvent(kind="tool_result", text=told, tool="command", call=call, ok=ok)]
            case "fileChange":
                self._changes.pop(call, None)
                self._account.denials += item.get("status") == "declined"
                return [AgentEvent(kind="tool_result", tool="apply_patch", call=call, ok=ok)]
            case "mcpToolCall":
                told = as_shown_text(item.get("error") or item.get("result"))
                return [
                    AgentEvent(kind="tool_result", text=told, tool=as_single_line(item.get("tool")), call=call, ok=ok)
                ]
        return []


def as_path(value: Any) -> str:
    """Return a reported path; empty if there is none or it cannot be a path."""
    return value if isinstance(value, str) and len(value) <= 4096 and "\0" not in value else ""


def _command_as_input(line: Any) -> dict[str, Any]:
    """Return the words of a command line, which the program reports quoted for a shell."""
    if not isinstance(line, str):
        return {}
    try:
        found = shlex.split(line)
    except ValueError:
        return {}
    return {"command": found}


def _parse_file_diff(row: dict[str, Any]) -> FileDiff:
    kind, path = as_mapping(row.get("kind")), as_path(row.get("path"))
    told = row.get("diff")
    body = told if isinstance(told, str) else ""
    match kind.get("type"):
        case "add":
            return FileDiff(path, "whole", body)
        case "delete":
            return FileDiff(path, "gone")
    # What is of no known kind changes a file in a way that nobody told: hunks that fit nowhere.
    return FileDiff(path, "hunks", body, as_path(kind.get("move_path")))
