"""Lines from a program that may print anything: cut at a limit, parsed without ever raising, told as what was said."""

import json
import math
from typing import Any

from gitnexus.adapters.protocol import Ended, Reason, Said, is_session
from gitnexus.base.text import one_line, visible

LINE_LIMIT = 4 * 1024 * 1024
TEXT_LIMIT = 4000
# A plan or research is one message, and half of it is none.
MESSAGE_LIMIT = 400_000
_WORD_LIMIT = 120
# A count of tokens beyond this is no count.
_MOST = 10**12


class Lines:
    """Pieces as they come from a pipe become lines; of a line beyond the limit only the beginning is kept."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._begun = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that this piece ends, without their ends."""
        *whole, rest = piece.split(b"\n")
        found = []
        for part in whole:
            self._add(part)
            found.append(bytes(self._begun))
            self._begun.clear()
        self._add(rest)
        return found

    def end(self) -> list[bytes]:
        """Return the last line if it has no end."""
        rest = bytes(self._begun)
        self._begun.clear()
        return [rest] if rest else []

    def _add(self, part: bytes) -> None:
        room = self._limit + 1 - len(self._begun)
        if room > 0:
            self._begun += part[:room]


def object_in(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a line, or None for anything else, of any size, depth or encoding."""
    if len(line) > LINE_LIMIT:
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number of 5,000 digits; brackets without end
        return None
    return value if isinstance(value, dict) else None


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one where something else stands."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, without what is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number(value: Any) -> int:
    """Return a count, 0 where none stands."""
    return value if type(value) is int and 0 <= value <= _MOST else 0


def money(value: Any) -> float | None:
    """Return an amount, or None where none stands (also for NaN, which would compare as within any budget)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value > _MOST:
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def text(value: Any, limit: int = TEXT_LIMIT) -> str:
    """Return bounded text that is safe to show; anything but text as compact JSON."""
    if not isinstance(value, str):
        if value is None:
            return ""
        try:
            value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        except RecursionError:
            return "…"
    shown = visible(value[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def word(value: Any) -> str:
    """Return a name on one line, or nothing."""
    return one_line(value, _WORD_LIMIT) if isinstance(value, str) else ""


class Account:
    """What every reader keeps: the last message, the session, what was used, what was not understood."""

    def __init__(self) -> None:
        self.message = ""
        self.session = ""
        self.cost_usd: float | None = None
        self.tokens_in = self.tokens_out = self.turns = self.denials = self.noise = 0
        self.error = ""

    def noted(self, line: bytes) -> list[Said]:
        """Count a line that is not understood; an empty one is nothing at all."""
        if not line.strip():
            return []
        self.noise += 1
        return [Said(kind="noise", text=one_line(line[:400].decode("utf-8", "replace")), count=self.noise)]

    def named(self, session: Any) -> None:
        """Keep the first session that is told and may be given back; a later line cannot turn it into another."""
        if not self.session and isinstance(session, str) and is_session(session):
            self.session = session

    def said(self, value: Any) -> list[Said]:
        """Take a message of the model; the last one stands."""
        told = text(value, MESSAGE_LIMIT)
        if not told.strip():
            return []
        self.message = told
        return [Said(kind="message", text=text(value))]

    def failed(self, value: Any) -> list[Said]:
        """Take an error that the program tells; whether it is the end, the end tells."""
        self.error = text(value) or "no reason given"
        return [Said(kind="error", text=self.error, ok=False)]

    def used(self) -> list[Said]:
        """Tell what was used until now."""
        return [Said(kind="cost", tokens_in=self.tokens_in, tokens_out=self.tokens_out, cost_usd=self.cost_usd)]

    def ended(self, status: int, reason: Reason) -> Ended:
        """Return the end. A signal or a status other than 0 outweighs whatever was said before."""
        if status < 0:
            reason = "killed"
        elif status > 0 and reason in ("completed", "unfinished"):
            reason = "failed"
        ok = reason == "completed"
        return Ended(
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
