"""Splits a program's output into lines of limited length, parses them without raising, and collects their reports."""

import json
import math
from typing import Any

from gitnexus.adapters.protocol import AgentEnd, AgentEvent, Reason, is_session_name
from gitnexus.base.text import make_visible, one_line

LINE_LIMIT = 4 * 1024 * 1024
TEXT_LIMIT = 4000
# A plan or research is one message, and half of it is none.
MESSAGE_LIMIT = 400_000
_WORD_LIMIT = 120
# A count of tokens beyond this is no count.
_MOST = 10**12


class LineSplitter:
    """Splits the chunks of a pipe into lines; of a line beyond the limit only the beginning is kept."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._begun = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that this chunk completes, without line ends."""
        *whole, rest = piece.split(b"\n")
        found = []
        for part in whole:
            self._append_bounded(part)
            found.append(bytes(self._begun))
            self._begun.clear()
        self._append_bounded(rest)
        return found

    def end(self) -> list[bytes]:
        """Return the last line if it has no line end."""
        rest = bytes(self._begun)
        self._begun.clear()
        return [rest] if rest else []

    def _append_bounded(self, part: bytes) -> None:
        room = self._limit + 1 - len(self._begun)
        if room > 0:
            self._begun += part[:room]


def parse_json_line(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a line, or None for anything else, of any size, depth or encoding."""
    if len(line) > LINE_LIMIT:
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number of 5,000 digits; brackets without end
        return None
    return value if isinstance(value, dict) else None


def as_mapping(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for a value of another type."""
    return value if isinstance(value, dict) else {}


def mappings_in_list(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, without other values."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_count(value: Any) -> int:
    """Return a count, 0 for a value of another type."""
    return value if type(value) is int and 0 <= value <= _MOST else 0


def as_amount(value: Any) -> float | None:
    """Return an amount, None for a value of another type (also for NaN, which would be within any budget)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value > _MOST:
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def as_shown_text(value: Any, limit: int = TEXT_LIMIT) -> str:
    """Return bounded text that is safe to show; anything but text as compact JSON."""
    if not isinstance(value, str):
        if value is None:
            return ""
        try:
            value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        except RecursionError:
            return "…"
    shown = make_visible(value[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def as_single_line(value: Any) -> str:
    """Return a name on one line; empty for a value of another type."""
    return one_line(value, _WORD_LIMIT) if isinstance(value, str) else ""


class OutputAccount:
    """The data that every reader collects: last message, session, usage, and the number of unknown lines."""

    def __init__(self) -> None:
        self.message = ""
        self.session = ""
        self.cost_usd: float | None = None
        self.tokens_in = self.tokens_out = self.turns = self.denials = self.noise = 0
        self.error = ""

    def noted(self, line: bytes) -> list[AgentEvent]:
        """Count a line that could not be parsed; an empty line does not count."""
        if not line.strip():
            return []
        self.noise += 1
        return [AgentEvent(kind="noise", text=one_line(line[:400].decode("utf-8", "replace")), count=self.noise)]

    def keep_session(self, session: Any) -> None:
        """Store the first valid session name; a later line cannot replace it."""
        if not self.session and isinstance(session, str) and is_session_name(session):
            self.session = session

    def said(self, value: Any) -> list[AgentEvent]:
        """Store a message of the model; the last one counts."""
        told = as_shown_text(value, MESSAGE_LIMIT)
        if not told.strip():
            return []
        self.message = told
        return [AgentEvent(kind="message", text=as_shown_text(value))]

    def failed(self, value: Any) -> list[AgentEvent]:
        """Store an error that the program reports; whether it ends the work is decided at the end."""
        self.error = as_shown_text(value) or "no reason given"
        return [AgentEvent(kind="error", text=self.error, ok=False)]

    def used(self) -> list[AgentEvent]:
        """Report the usage so far."""
        return [AgentEvent(kind="cost", tokens_in=self.tokens_in, tokens_out=self.tokens_out, cost_usd=self.cost_usd)]

    def ended(self, status: int, reason: Reason) -> AgentEnd:
        """Return the end. A signal or an exit status other than 0 outweighs any earlier report."""
        if status < 0:
            reason = "killed"
        elif status > 0 and reason in ("completed", "unfinished"):
            reason = "failed"
        ok = reason == "completed"
        return AgentEnd(
            ok=ok,
            reason=reason,
            message=self.message if ok or not self.error else self.error,
            session=self.session,
            cost_usd=self.cost_usd,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            turns=self.turns,
            denials=self.denials,
            noise=self.noise,
        )
