"""Decides whether a model may call another tool within one prompt: calls, bytes, time, tokens. Keeps the counts."""

import time
from collections.abc import Callable

from pydantic import Field

from gitnexus.base.document import Document


class ToolLimits(Document):
    """How much a model may look up while it answers one prompt; 0 calls are none, other zeros are no limit."""

    calls: int = Field(default=40, ge=0, le=1000)
    kib: int = Field(default=512, ge=0, le=16 * 1024)
    seconds: int = Field(default=600, ge=0, le=24 * 3600)
    tokens: int = Field(default=400_000, ge=0, le=10**9)


class ToolBudget:
    """What of the limits is used up."""

    def __init__(self, limits: ToolLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._began = clock()
        self.calls = self.size = 0

    def why_over(self, tokens: int) -> str:
        """Return which limit is reached, "" if none is."""
        limits = self._limits
        if self.calls >= limits.calls:
            return f"{limits.calls} calls were made"
        if limits.kib and self.size >= limits.kib * 1024:
            return f"{limits.kib} KiB were read"
        if limits.seconds and self._clock() - self._began >= limits.seconds:
            return f"{limits.seconds} seconds were used"
        if limits.tokens and tokens >= limits.tokens:
            return f"{limits.tokens:,} tokens were used"
        return ""

    def fit(self, text: str) -> str:
        """Return a result as far as there is room for it, and count it."""
        room = max(0, self._limits.kib * 1024 - self.size) if self._limits.kib else len(text) * 4
        raw = text.encode("utf-8", "replace")
        self.calls += 1
        self.size += min(len(raw), room)
        if len(raw) <= room:
            return text
        return raw[:room].decode("utf-8", "ignore") + "\n(the rest is cut: no more may be read)"
