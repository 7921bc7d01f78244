"""The Agent Client Protocol, as Gemini CLI 0.61.0 and OpenCode 1.18.33 speak it: permissions, and files to write."""

import re
from typing import Any

from gitnexus.adapters.lines import Account, items, mapping, number, object_in, text, word
from gitnexus.adapters.live.codex import word_or_path
from gitnexus.adapters.live.protocol import MOST_OPEN, Asked, FileDiff, Heard, message
from gitnexus.adapters.protocol import Ended, Job, Reason, Said

_START, _SESSION, _PROMPT = 1, 2, 3
_ASKS, _WRITES = "session/request_permission", "fs/write_text_file"
_IN = re.compile(r"\[in (/[^\n\]]{1,4000})\]")
_PIECES = 100_000
_SHELLS = {"gemini": "run_shell_command", "opencode": "bash"}


class AcpWire:
    """JSON-RPC 2.0. `place` is the folder of the session, which is not that of the work: settings lie there."""

    def __init__(self, job: Job, program: str, place: str, prompt: str) -> None:
        self._job, self._program, self._place, self._prompt = job, program, place, prompt
        self._account = Account()
        self._reason: Reason = "unfinished"
        self._pieces = ""
        self._speaks = False
        self._calls: dict[str, dict[str, Any]] = {}

    def opened(self) -> bytes:
        files = {"readTextFile": False, "writeTextFile": True}
        can = {"protocolVersion": 1, "clientCapabilities": {"fs": files, "terminal": False}}
        return _call(_START, "initialize", can)

    def feed(self, line: bytes) -> Heard:
        found = object_in(line)
        if found is None:
            return Heard(tuple(self._account.noted(line)))
        method, params = found.get("method"), mapping(found.get("params"))
        if method is None:
            return self._response(found)
        if "id" not in found:
            return Heard(tuple(self._update(mapping(params.get("update")))) if method == "session/update" else ())
        name = found["id"]
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            return Heard()
        if method == _ASKS:
            return Heard(asked=(self._permission(name, params),))
        content = params.get("content")
        if method == _WRITES and isinstance(content, str):
            diff = FileDiff(word_or_path(params.get("path")), "whole", content)
            return Heard(asked=(Asked(id=name, tool=_WRITES, diffs=(diff,), performs=True),))
        error = {"code": -32601, "message": "not known here"}
        return Heard(out=message({"jsonrpc": "2.0", "id": name, "error": error}))

    def answered(self, asked: Asked, *, yes: bool, why: str) -> bytes:
        if asked.performs:
            told: dict[str, Any] = {"result": None} if yes else {"error": {"code": -32000, "message": why}}
        else:
            option = asked.yes if yes else asked.no
            # Without a word for it there is one that every program knows.
            chosen = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
            told = {"result": {"outcome": chosen}}
        return message({"jsonrpc": "2.0", "id": asked.id, **told})

    def end(self, status: int) -> Ended:
        self._account.said(self._pieces)
        return self._account.ended(status, self._reason)

    def _response(self, found: dict[str, Any]) -> Heard:
        if "error" in found:
            self._reason = "failed"
            return Heard(tuple(self._account.failed(mapping(found["error"]).get("message"))), over=True)
        result = mapping(found.get("result"))
        match found.get("id"):
            case 1:
                session = {"cwd": self._place, "mcpServers": []}
                if self._job.session:
                    out = _call(_SESSION, "session/load", {**session, "sessionId": self._job.session})
                else:
                    out = _call(_SESSION, "session/new", session)
                return Heard(out=out)
            case 2:
                # A session that is taken up tells its story before it answers; that is not said now.
                self._speaks, self._pieces = True, ""
                name = self._job.session or result.get("sessionId")
                self._account.named(name)
                prompt = {"sessionId": name, "prompt": [{"type": "text", "text": self._prompt}]}
                out = _call(_PROMPT, "session/prompt", prompt)
                return Heard((Said(kind="progress", text="started"),), out=out)
            case 3:
                return self._over(result)
        return Heard()

    def _over(self, result: dict[str, Any]) -> Heard:
        account = self._account
        whole = account.said(self._pieces)
        self._pieces = ""
        used = mapping(result.get("usage")) or mapping(
            mapping(mapping(result.get("_meta")).get("quota")).get("token_count")
        )
        account.tokens_in = number(used.get("inputTokens")) or number(used.get("input_tokens"))
        account.tokens_out = number(used.get("outputTokens")) or number(used.get("output_tokens"))
        account.turns += 1
        reason = result.get("stopReason")
        self._reason = "completed" if reason == "end_turn" else "limit" if reason == "max_tokens" else "failed"
        failed = [] if reason == "end_turn" else account.failed(f"it stopped: {word(reason)}")
        return Heard((*whole, *failed, *account.used()), over=True)

    def _update(self, update: dict[str, Any]) -> list[Said]:
        if not self._speaks:
            return []
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            piece = mapping(update.get("content")).get("text")
            if isinstance(piece, str) and len(self._pieces) < _PIECES:
                self._pieces += piece
            return []
        if kind not in ("tool_call", "tool_call_update"):
            return []
        whole, self._pieces = self._account.said(self._pieces), ""
        call, title = word(update.get("toolCallId")), word(update.get("title"))
        known = self._calls.get(call)
        if known is None and len(self._calls) < MOST_OPEN:
            known = self._calls[call] = {}
        given = mapping(update.get("rawInput"))
        if known is not None and given:
            known |= given
        if update.get("status") in ("completed", "failed"):
            self._calls.pop(call, None)
            ok = update["status"] == "completed"
            told = "\n".join(_texts(update))
            return [*whole, Said(kind="tool_result", text=text(told), tool=title, call=call, ok=ok)]
        return whole

    def _permission(self, name: str | int, params: dict[str, Any]) -> Asked:
        about, options = mapping(params.get("toolCall")), items(params.get("options"))
        call, kind = word(about.get("toolCallId")), about.get("kind")
        given = {**self._calls.get(call, {}), **mapping(about.get("rawInput"))}
        # Only for this once: what holds longer is for our own policy to say.
        words = {one.get("kind"): one.get("optionId") for one in options if isinstance(one.get("optionId"), str)}
        yes, no = str(words.get("allow_once", "")), str(words.get("reject_once", ""))
        content = items(about.get("content"))
        diffs = tuple(_diff(one) for one in content if one.get("type") == "diff")
        if diffs:
            return Asked(id=name, tool="edit", diffs=diffs, call=call, yes=yes, no=no)
        if kind == "execute":
            line = given.get("command", about.get("title"))
            cwd = word_or_path(given.get("workdir")) or next((one for one in map(_folder, _texts(about)) if one), "")
            tool, asked_for = _SHELLS.get(self._program, ""), {"command": line} if isinstance(line, str) else {}
            return Asked(id=name, tool=tool, given=asked_for, call=call, cwd=cwd, yes=yes, no=no)
        return Asked(id=name, tool=word(about.get("title")), given=given, call=call, yes=yes, no=no)


def _call(name: int, method: str, params: dict[str, Any]) -> bytes:
    return message({"jsonrpc": "2.0", "id": name, "method": method, "params": params})


def _diff(row: dict[str, Any]) -> FileDiff:
    path, new = word_or_path(row.get("path")), row.get("newText")
    return FileDiff(path, "whole", new) if isinstance(new, str) else FileDiff(path, "hunks")


def _texts(value: dict[str, Any]) -> list[str]:
    found = [mapping(one.get("content")).get("text") for one in items(value.get("content"))]
    return [one for one in found if isinstance(one, str)]


def _folder(told: str) -> str:
    found = _IN.search(told)
    return found[1] if found else ""
