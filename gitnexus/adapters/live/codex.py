"""Codex as a server of its own: it asks before commands and changes of files. Seen with 0.166.0."""

import shlex
from typing import Any

from gitnexus.adapters.lines import Account, items, mapping, number, object_in, text, word
from gitnexus.adapters.live.protocol import MOST_OPEN, Asked, FileDiff, Heard, message
from gitnexus.adapters.protocol import Ended, Job, Reason, Said, asked

_START, _THREAD, _TURN = 1, 2, 3
_COMMAND, _FILES = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"


class CodexWire:
    """JSON-RPC without the word for it. What a change of files holds is told before it is asked about."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._account = Account()
        self._reason: Reason = "unfinished"
        self._changes: dict[str, tuple[FileDiff, ...]] = {}

    def opened(self) -> bytes:
        client = {"name": "git-nexus", "version": "1"}
        return message({"method": "initialize", "id": _START, "params": {"clientInfo": client}})

    def feed(self, line: bytes) -> Heard:
        found = object_in(line)
        if found is None:
            return Heard(tuple(self._account.noted(line)))
        method, params = found.get("method"), mapping(found.get("params"))
        if method is None:
            return self._response(found)
        if "id" in found:
            return self._request(found["id"], method, params)
        return self._told(method, params)

    def answered(self, asked: Asked, *, yes: bool, why: str) -> bytes:
        # There is no room for a reason; `decline` lets the turn go on, where it is offered.
        return message({"id": asked.id, "result": {"decision": asked.yes if yes else asked.no}})

    def end(self, status: int) -> Ended:
        return self._account.ended(status, self._reason)

    def _response(self, found: dict[str, Any]) -> Heard:
        error = mapping(found.get("error"))
        if "error" in found:
            self._reason = "failed"
            return Heard(tuple(self._account.failed(error.get("message"))), over=True)
        result = mapping(found.get("result"))
        if found.get("id") == _START:
            return Heard(out=message({"method": "initialized"}) + message(self._thread()))
        if found.get("id") == _THREAD:
            name = mapping(result.get("thread")).get("id")
            self._account.named(name)
            turn = {"threadId": name, "input": [{"type": "text", "text": asked(self._job)}]}
            out = message({"method": "turn/start", "id": _TURN, "params": turn})
            return Heard((Said(kind="progress", text="started"),), out=out)
        return Heard()

    def _thread(self) -> dict[str, Any]:
        # Its own sandbox is off, as ours is around it; `untrusted` asks about all but what only looks.
        params = {"cwd": self._job.folder, "approvalPolicy": "untrusted", "sandbox": "danger-full-access"}
        if self._job.session:
            return {"method": "thread/resume", "id": _THREAD, "params": {**params, "threadId": self._job.session}}
        return {"method": "thread/start", "id": _THREAD, "params": params}

    def _request(self, name: Any, method: Any, params: dict[str, Any]) -> Heard:
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            return Heard()
        if method not in (_COMMAND, _FILES):
            return Heard(out=message({"id": name, "error": {"code": -32601, "message": "not known here"}}))
        offered = params.get("availableDecisions")
        no = "cancel" if isinstance(offered, list) and "decline" not in offered else "decline"
        item = word(params.get("itemId"))
        if method == _FILES:
            diffs = self._changes.get(item, ())
            return Heard(asked=(Asked(id=name, tool="apply_patch", diffs=diffs, call=item, yes="accept", no=no),))
        line, cwd = params.get("command"), word_or_path(params.get("cwd"))
        question = Asked(id=name, tool="exec_command", given=_words(line), call=item, cwd=cwd, yes="accept", no=no)
        return Heard(asked=(question,))

    def _told(self, method: Any, params: dict[str, Any]) -> Heard:
        item = mapping(params.get("item"))
        match method:
            case "item/started":
                return Heard(tuple(self._begun(item)))
            case "item/completed":
                return Heard(tuple(self._done(item)))
            case "thread/tokenUsage/updated":
                total = mapping(mapping(params.get("tokenUsage")).get("total"))
                self._account.tokens_in = number(total.get("inputTokens"))
                self._account.tokens_out = number(total.get("outputTokens"))
            case "error":
                return Heard(tuple(self._account.failed(mapping(params.get("error")).get("message"))))
            case "turn/completed":
                return self._turn(mapping(params.get("turn")))
        return Heard()

    def _turn(self, turn: dict[str, Any]) -> Heard:
        self._account.turns += 1
        if turn.get("status") == "completed":
            self._reason = "completed"
            return Heard(tuple(self._account.used()), over=True)
        self._reason = "failed"
        told = mapping(turn.get("error")).get("message") or self._account.error or turn.get("status")
        return Heard((*self._account.failed(told), *self._account.used()), over=True)

    def _begun(self, item: dict[str, Any]) -> list[Said]:
        call = word(item.get("id"))
        match item.get("type"):
            case "fileChange":
                if len(self._changes) < MOST_OPEN:
                    self._changes[call] = tuple(_diff(row) for row in items(item.get("changes")))
                names = ", ".join(word_or_path(row.get("path")) for row in items(item.get("changes")))
                return [Said(kind="tool_call", text=text(names), tool="apply_patch", call=call)]
            case "commandExecution":
                return [Said(kind="tool_call", text=text(item.get("command")), tool="command", call=call)]
            case "mcpToolCall":
                return [
                    Said(kind="tool_call", text=text(item.get("arguments")), tool=word(item.get("tool")), call=call)
                ]
        return []

    def _done(self, item: dict[str, Any]) -> list[Said]:
        call, ok = word(item.get("id")), item.get("status") not in ("failed", "declined")
        match item.get("type"):
            case "agentMessage":
                return self._account.said(item.get("text"))
            case "commandExecution":
                self._account.denials += item.get("status") == "declined"
                told = text(item.get("aggregatedOutput"))
                return [Said(kind="tool_result", text=told, tool="command", call=call, ok=ok)]
            case "fileChange":
                self._changes.pop(call, None)
                self._account.denials += item.get("status") == "declined"
                return [Said(kind="tool_result", tool="apply_patch", call=call, ok=ok)]
            case "mcpToolCall":
                told = text(item.get("error") or item.get("result"))
                return [Said(kind="tool_result", text=told, tool=word(item.get("tool")), call=call, ok=ok)]
        return []


def word_or_path(value: Any) -> str:
    """Return a path as it is told, nothing where there is none or where no path can be."""
    return value if isinstance(value, str) and len(value) <= 4096 and "\0" not in value else ""


def _words(line: Any) -> dict[str, Any]:
    """Return a command line as its words: it is told quoted for a shell, from words that are not split again."""
    if not isinstance(line, str):
        return {}
    try:
        found = shlex.split(line)
    except ValueError:
        return {}
    return {"command": found}


def _diff(row: dict[str, Any]) -> FileDiff:
    kind, path = mapping(row.get("kind")), word_or_path(row.get("path"))
    told = row.get("diff")
    body = told if isinstance(told, str) else ""
    match kind.get("type"):
        case "add":
            return FileDiff(path, "whole", body)
        case "delete":
            return FileDiff(path, "gone")
    # What is of no known kind changes a file in a way that nobody told: hunks that fit nowhere.
    return FileDiff(path, "hunks", body, word_or_path(kind.get("move_path")))
