"""Shows what a model writes while it writes it, without secrets; at most once a second it becomes an event."""

import time
from collections.abc import Callable

from gitnexus.adapters.protocol import AgentEvent
from gitnexus.events.kinds import shorten_text
from gitnexus.prompts.readable_json import ReadableJson
from gitnexus.redaction.hide import Redactor
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.agent.run import Show
from gitnexus.runs.open_run import OpenRun
from gitnexus.workflow.definition import WorkflowNode

# At most one event in so many seconds, and so many of one call; the whole is kept as an artifact.
_SECONDS = 1.0
_MOST_EVENTS = 100
# A line without an end is shown in parts.
_LONGEST_LINE = 2000


class ModelOutput:
    """Takes pieces of text as they come. A secret may be split over them: nothing is shown before its line ends."""

    def __init__(
        self, run: OpenRun, node: WorkflowNode, show: Show, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run, self._node, self._show, self._clock = run, node, show, clock
        self._last, self._left = -_SECONDS, _MOST_EVENTS
        self._unlogged: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._readable, self._redactor, self._rest = ReadableJson(), Redactor(known_secret_values()), ""

    def feed(self, piece: str) -> None:
        """Take a piece; an empty one ends an answer."""
        if piece:
            self._take(self._redactor.feed(self._readable.feed(piece).encode("utf-8", "replace")))
        else:
            self._end_answer()

    def _end_answer(self) -> None:
        self._take(self._redactor.feed(b"\n") + self._redactor.finish() + b"\n")
        self._begin()

    def finish(self) -> None:
        """Show and log what is left."""
        self._end_answer()
        self._log_progress()

    def _take(self, raw: bytes) -> None:
        *lines, self._rest = (self._rest + raw.decode("utf-8", "replace")).split("\n")
        for line in filter(str.strip, lines):
            self._show(AgentEvent(kind="message", text=line[:_LONGEST_LINE]))
            self._unlogged.append(line)
        if self._unlogged and self._clock() - self._last >= _SECONDS:
            self._log_progress()

    def _log_progress(self) -> None:
        text = "\n".join(self._unlogged)
        self._unlogged.clear()
        self._last = self._clock()
        if text and self._left > 0:
            self._left -= 1
            body = {"text": shorten_text(text), "node": self._node.id}
            self._run.log.append("agent.progress", self._node.adapter, body)
