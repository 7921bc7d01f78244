"""The log of tools, `.nexus/state/<harness>/tool-log.jsonl`: one line a call, kept within bounds.

A line tells who called what, on which file and whether it worked; never what was in it. Only the reason of a failure is
somebody's free text, so that alone is redacted, and cut.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gitnexus.base.text import one_line
from gitnexus.harness.model import Happening
from gitnexus.harness.moment import stamp
from gitnexus.harness.shelf import Shelf

LOG, OLDER = "tool-log.jsonl", "tool-log.1.jsonl"
LARGEST = 1024 * 1024
_REASON = 300


def note(shelf: Shelf, told: Happening, files: Sequence[str]) -> None:
    """Add one line; a log that is full is put aside, and the one that was aside is gone. Raises: OSError, Busy."""
    line = json.dumps(row(told, files), separators=(",", ":")).encode() + b"\n"
    # One write at the end of the file needs no lock: lines of two processes stand one behind the other.
    if shelf.append(LOG, line) > LARGEST:
        with shelf.exclusive():
            if len(shelf.load(LOG) or b"") > LARGEST:  # nobody else was quicker
                shelf.rename(LOG, OLDER)


def row(told: Happening, files: Sequence[str]) -> dict[str, Any]:
    """Return the line for one call."""
    found: dict[str, Any] = {
        "ts": stamp(),
        "session": _shown(told.session),
        "agent_id": _shown(told.agent_id),
        "agent_name": _shown(told.agent),
        "tool": _shown(told.tool),
        "call": _shown(told.call),
        "file": _shown(files[0]) if files else "",
        "files": [_shown(file) for file in files] if len(files) > 1 else [],
    }
    found = {key: value for key, value in found.items() if value}
    found["status"] = "error" if told.failed else "ok"
    if told.failed:
        found["error"] = _reason(told.answer)
    return found


def touched_by(shelf: Shelf, agent_id: str) -> tuple[str, ...]:
    """Return the files that an agent changed, in the order of their first change."""
    wanted = _shown(agent_id)
    found: dict[str, None] = {}
    for line in _lines(shelf):
        if line.get("agent_id") == wanted and line.get("status") == "ok":
            files = line.get("files") or [line.get("file")]
            found.update(dict.fromkeys(file for file in files if isinstance(file, str) and file))
    return tuple(found)


def _lines(shelf: Shelf) -> Iterator[dict[str, Any]]:
    for name in (OLDER, LOG):
        for raw in (shelf.load(name) or b"").split(b"\n"):
            try:
                value = json.loads(raw) if raw else None
            except ValueError:
                continue  # a line that was cut by a full disk
            if isinstance(value, dict):
                yield value


def _reason(answer: Any) -> str:
    """Return why a tool failed, in its own words: one line, without what looks like a secret."""
    said = answer
    if isinstance(answer, dict):
        said = next((answer[key] for key in ("error", "message", "stderr", "output") if answer.get(key)), "")
        said = said.get("message", "") if isinstance(said, dict) else said
    if not isinstance(said, str) or not said:
        return ""
    from gitnexus.redaction import redact  # 20 ms, and only a failure pays

    return one_line(redact(said[: 20 * _REASON]).text, _REASON)


def _shown(text: str) -> str:
    return one_line(text, 500)
