"""Agent Client Protocol as Gemini CLI 0.61.0 and OpenCode 1.18.33 implement it: permission requests and file writes."""

import re
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
from gitnexus.adapters.live.codex import as_path
from gitnexus.adapters.live.protocol import MOST_OPEN, FileDiff, LineOutcome, PendingCall, encode_message
from gitnexus.adapters.protocol import AgentEnd, AgentEvent, AgentJob, Reason

_START, _SESSION, _PROMPT = 1, 2, 3
_ASKS, _WRITES = "session/request_permission", "fs/write_text_file"
_IN = re.compile(r"\[in (/[^\n\]]{1,4000})\]")
_PIECES = 100_000
_SHELLS = {"gemini": "run_shell_command", "opencode": "bash"}


class AcpConversation:
    """JSON-RPC 2.0. `place` is the folder of the session, which is not the worktree: the settings are there."""

    def __init__(self, job: AgentJob, program: str, place: str, prompt: str) -> None:
        self._job, self._program, self._place, self._prompt = job, program, place, prompt
        self._account = OutputAccount()
        self._reason: Reason = "unfinished"
        self._pieces = ""
        self._speaks = False
        self._calls: dict[str, dict[str, Any]] = {}

    def opened(self) -> bytes:
        files = {"readTextFile": False, "writeTextFile": True}
        can = {"protocolVersion": 1, "clientCapabilities": {"fs": files, "terminal": False}}
        return _request_message(_START, "initialize", can)

    def feed(self, line: bytes) -> LineOutcome:
        found = parse_json_line(line)
        if found is None:
            return LineOutcome(tuple(self._account.noted(line)))
        method, params = found.get("method"), as_mapping(found.get("params"))
        if method is None:
            return self._on_response(found)
        if "id" not in found:
            return LineOutcome(
                tuple(self._on_update(as_mapping(params.get("update")))) if method == "session/update" else ()
            )
        name = found["id"]
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            return LineOutcome()
        if method == _ASKS:
            return LineOutcome(asked=(self._parse_permission_request(name, params),))
        content = params.get("content")
        if method == _WRITES and isinstance(content, str):
            diff = FileDiff(as_path(params.get("path")), "whole", content)
            return LineOutcome(asked=(PendingCall(id=name, tool=_WRITES, diffs=(diff,), performs=True),))
        error = {"code": -32601, "message": "not known here"}
        return LineOutcome(out=encode_message({"jsonrpc": "2.0", "id": name, "error": error}))

    def answered(self, asked: PendingCall, *, yes: bool, why: str) -> bytes:
        if asked.performs:
            told: dict[str, Any] = {"result": None} if yes else {"error": {"code": -32000, "message": why}}
        else:
            option = asked.yes if yes else asked.no
            # Without a word for it there is one that every program knows.
            chosen = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
            told = {"result": {"outcome": chosen}}
        return encode_message({"jsonrpc": "2.0", "id": asked.id, **told})

    def end(self, status: int) -> AgentEnd:
        self._account.said(self._pieces)
        return self._account.ended(status, self._reason)

    def _on_response(self, found: dict[str, Any]) -> LineOutcome:
        if "error" in found:
            self._reason = "failed"
            return LineOutcome(tuple(self._account.failed(as_mapping(found["error"]).get("message"))), over=True)
        result = as_mapping(found.get("result"))
        match found.get("id"):
            case 1:
                session = {"cwd": self._place, "mcpServers": []}
                if self._job.session:
                    out = _request_message(_SESSION, "session/load", {**session, "sessionId": self._job.session})
                else:
                    out = _request_message(_SESSION, "session/new", session)
                return LineOutcome(out=out)
            case 2:
                # A session that is taken up tells its story before it answers; that is not said now.
                self._speaks, self._pieces = True, ""
                name = self._job.session or result.get("sessionId")
                self._account.keep_session(name)
                prompt = {"sessionId": name, "prompt": [{"type": "text", "text": self._prompt}]}
                out = _request_message(_PROMPT, "session/prompt", prompt)
                return LineOutcome((AgentEvent(kind="progress", text="started"),), out=out)
            case 3:
                return self._on_prompt_done(result)
        return LineOutcome()

    def _on_prompt_done(self, result: dict[str, Any]) -> LineOutcome:
        account = self._account
        whole = account.said(self._pieces)
        self._pieces = ""
        used = as_mapping(result.get("usage")) or as_mapping(
            as_mapping(as_mapping(result.get("_meta")).get("quota")).get("token_count")
        )
        account.tokens_in = as_count(used.get("inputTokens")) or as_count(used.get("input_tokens"))
        account.tokens_out = as_count(used.get("outputTokens")) or as_count(used.get("output_tokens"))
        account.turns += 1
        reason = result.get("stopReason")
        self._reason = "completed" if reason == "end_turn" else "limit" if reason == "max_tokens" else "failed"
        failed = [] if reason == "end_turn" else account.failed(f"it stopped: {as_single_line(reason)}")
        return LineOutcome((*whole, *failed, *account.used()), over=True)

    def _on_update(self, update: dict[str, Any]) -> list[AgentEvent]:
        if not self._speaks:
            return []
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            piece = as_mapping(update.get("content")).get("text")
            if isinstance(piece, str) and len(self._pieces) < _PIECES:
                self._pieces += piece
            return []
        if kind not in ("tool_call", "tool_call_update"):
            return []
        whole, self._pieces = self._account.said(self._pieces), ""
        call, title = as_single_line(update.get("toolCallId")), as_single_line(update.get("title"))
        known = self._calls.get(call)
        if known is None and len(self._calls) < MOST_OPEN:
            known = self._calls[call] = {}
        given = as_mapping(update.get("rawInput"))
        if known is not None and given:
            known |= given
        if update.get("status") in ("completed", "failed"):
            self._calls.pop(call, None)
            ok = update["status"] == "completed"
            told = "\n".join(_texts_in_content(update))
            return [*whole, AgentEvent(kind="tool_result", text=as_shown_text(told), tool=title, call=call, ok=ok)]
        return whole

    def _parse_permission_request(self, name: str | int, params: dict[str, Any]) -> PendingCall:
        about, options = as_mapping(params.get("toolCall")), mappings_in_list(params.get("options"))
        call, kind = as_single_line(about.get("toolCallId")), about.get("kind")
        given = {**self._calls.get(call, {}), **as_mapping(about.get("rawInput"))}
        # Only for this once: what holds longer is for our own policy to say.
        words = {one.get("kind"): one.get("optionId") for one in options if isinstance(one.get("optionId"), str)}
        yes, no = str(words.get("allow_once", "")), str(words.get("reject_once", ""))
        content = mappings_in_list(about.get("content"))
        diffs = tuple(_parse_file_diff(one) for one in content if one.get("type") == "diff")
        if diffs:
            return PendingCall(id=name, tool="edit", diffs=diffs, call=call, yes=yes, no=no)
        if kind == "execute":
            line = given.get("command", about.get("title"))
            cwd = as_path(given.get("workdir")) or next(
                (one for one in map(_folder_in_text, _texts_in_content(about)) if one), ""
            )
            tool, asked_for = _SHELLS.get(self._program, ""), {"command": line} if isinstance(line, str) else {}
            return PendingCall(id=name, tool=tool, given=asked_for, call=call, cwd=cwd, yes=yes, no=no)
        return PendingCall(id=name, tool=as_single_line(about.get("title")), given=given, call=call, yes=yes, no=no)


def _request_message(name: int, method: str, params: dict[str, Any]) -> bytes:
    return encode_message({"jsonrpc": "2.0", "id": name, "method": method, "params": params})


def _parse_file_diff(row: dict[str, Any]) -> FileDiff:
    path, new = as_path(row.get("path")), row.get("newText")
    return FileDiff(path, "whole", new) if isinstance(new, str) else FileDiff(path, "hunks")


def _texts_in_content(value: dict[str, Any]) -> list[str]:
    found = [as_mapping(one.get("content")).get("text") for one in mappings_in_list(value.get("content"))]
    return [one for one in found if isinstance(one, str)]


def _folder_in_text(told: str) -> str:
    found = _IN.search(told)
    return found[1] if found else ""
