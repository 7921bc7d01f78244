"""Appends each tool call of any program to `.nexus/state/tool-log.jsonl`, and keeps the file within a size limit.

A line records the caller, the tool, the file and whether it succeeded; never any content. File names that may contain a
token are redacted; the reason of a failure is free text, so it is always redacted and shortened.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gitnexus.base.text import one_line
from gitnexus.harness.model import HarnessEvent
from gitnexus.harness.moment import format_timestamp
from gitnexus.harness.session_files import SessionFiles
from gitnexus.harness.touched import storable

LOG, OLDER = "tool-log.jsonl", "tool-log.1.jsonl"
LARGEST = 1024 * 1024
_REASON = 300


def log_tool_call(session_files: SessionFiles, event: HarnessEvent, files: Sequence[str]) -> None:
    """Append one line; a full log replaces the previous old log. Raises: OSError, Busy."""
    line = json.dumps(tool_log_row(event, files), separators=(",", ":")).encode() + b"\n"
    shared = session_files.shared
    # A single append needs no lock: lines of two processes are written one after the other.
    if shared.append(LOG, line) > LARGEST:
        with shared.exclusive():
            if len(shared.load(LOG) or b"") > LARGEST:  # nobody else was quicker
                shared.rename(LOG, OLDER)


def last_at(files: SessionFiles) -> int | None:
    """Return the file time of the last logged call in nanoseconds; None before the first."""
    return files.shared.written_at(LOG)


def tool_log_row(event: HarnessEvent, files: Sequence[str]) -> dict[str, Any]:
    """Return the log line for one call."""
    found: dict[str, Any] = {
        "ts": format_timestamp(),
        "harness": _shorten_line(event.harness),
        "session": _shorten_line(event.session),
        "agent_id": _shorten_line(event.agent_id),
        "agent_name": _shorten_line(storable(event.agent)),
        "tool": _shorten_line(storable(event.tool)),
        "call": _shorten_line(event.call),
        "file": _shorten_line(files[0]) if files else "",
        "files": [_shorten_line(file) for file in files] if len(files) > 1 else [],
    }
    found = {key: value for key, value in found.items() if value}
    found["status"] = "error" if event.failed else "ok"
    if event.failed:
        found["error"] = _failure_reason(event.answer)
    return found


def files_changed_by_agent(session_files: SessionFiles, agent_id: str) -> tuple[str, ...]:
    """Return the files that an agent changed, in the order of their first change."""
    wanted = _shorten_line(agent_id)
    found: dict[str, None] = {}
    for line in _iterate_log_rows(session_files.shared):
        if (
            line.get("harness", session_files.harness) == session_files.harness
            and line.get("agent_id") == wanted
            and line.get("status") == "ok"
        ):
            files = line.get("files") or [line.get("file")]
            found.update(dict.fromkeys(file for file in files if isinstance(file, str) and file))
    return tuple(found)


def _iterate_log_rows(files: SessionFiles) -> Iterator[dict[str, Any]]:
    for name in (OLDER, LOG):
        for raw in (files.load(name) or b"").split(b"\n"):
            try:
                value = json.loads(raw) if raw else None
            except ValueError:
                continue  # a line that was cut by a full disk
            if isinstance(value, dict):
                yield value


def _failure_reason(answer: Any) -> str:
    """Return the tool's own reason of a failure: one line, with secrets masked."""
    said = answer
    if isinstance(answer, dict):
        said = next((answer[key] for key in ("error", "message", "stderr", "output") if answer.get(key)), "")
        said = said.get("message", "") if isinstance(said, dict) else said
    if not isinstance(said, str) or not said:
        return ""
    from gitnexus.redaction import redact  # 20 ms, and only a failure pays

    return one_line(redact(said[: 20 * _REASON]).text, _REASON)


def _shorten_line(text: str) -> str:
    return one_line(text, 500)
