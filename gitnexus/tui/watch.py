"""Follows the logs of runs as they grow: of unfinished runs, and of runs that start later.

A check without news costs a few `stat` calls. Only the end of a log is read for display; code that acts on it reads and
verifies the whole log.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.events.fold import fold
from gitnexus.events.inforce import Claimed, in_force
from gitnexus.events.model import Event, parse_event_line
from gitnexus.events.view import RunView
from gitnexus.gateway.assemble import TERMINAL
from gitnexus.gateway.recorder import run_folder
from gitnexus.runs.import_log import ARRIVED
from gitnexus.runs.model import ENDED

_LOG = "events.jsonl"
_MOST_AT_ONCE = 4 * 1024 * 1024


class NewRunEvents(NamedTuple):
    """New events of one run. `first`: the run existed before the watch, and its events are in the past."""

    run: str
    events: tuple[Event, ...]
    view: RunView
    first: bool


@dataclass(slots=True)
class _LogTail:
    path: Path
    at: int = 0
    size: int = -1
    view: RunView = field(default_factory=RunView)
    damaged: bool = False


class RunWatch:
    """Watches the logs below a git folder. `over` are finished runs; `claimed` returns the unproved part of a log."""

    def __init__(
        self, common_dir: Path, over: frozenset[str], claimed: Callable[[str], Sequence[Claimed]] = lambda run: ()
    ) -> None:
        self._claimed = claimed
        self._place = run_folder(common_dir, "x").parent
        self._over = over
        self._tails: dict[str, _LogTail] = {}
        self._stamp = -1
        self._begun = False

    @property
    def views(self) -> dict[str, RunView]:
        """The watched runs, by name."""
        return {run: tail.view for run, tail in self._tails.items() if tail.view.seq}

    def follow(self, run: str) -> None:
        """Watch a finished run as well."""
        if run not in self._tails:
            self._tails[run] = _LogTail(self._place / run / _LOG)

    def look(self) -> list[NewRunEvents]:
        """Return what is new since the last call."""
        self._find_new_logs()
        found = [seen for run, tail in self._tails.items() if (seen := self._read_new_events(run, tail))]
        self._begun = True
        return found

    def _find_new_logs(self) -> None:
        try:
            stamp = self._place.stat().st_mtime_ns
        except OSError:
            return
        if stamp == self._stamp:
            return
        self._stamp = stamp
        for name in sorted(os.listdir(self._place)):
            if name not in self._tails and name not in self._over and name != TERMINAL:
                self._tails[name] = _LogTail(self._place / name / _LOG)

    def _claimed_in(self, run: str) -> Sequence[Claimed]:
        # Only what came from elsewhere has such a file: nobody else's log is opened for it.
        return self._claimed(run) if (self._place / run / ARRIVED).exists() else ()

    def _read_new_events(self, run: str, tail: _LogTail) -> NewRunEvents | None:
        try:
            size = os.stat(tail.path).st_size
            if size == tail.size or tail.damaged:
                return None
            with tail.path.open("rb") as file:
                file.seek(tail.at)
                raw = file.read(_MOST_AT_ONCE if self._begun else -1)
        except OSError:
            return None
        whole = raw[: raw.rfind(b"\n") + 1]
        first = not self._begun and tail.at == 0
        tail.at += len(whole)
        tail.size = size if not self._begun or len(raw) < _MOST_AT_ONCE else -1
        try:
            events = tuple(parse_event_line(line) for line in whole.split(b"\n")[:-1])
            tail.view = fold(in_force(events, self._claimed_in(run)), tail.view)
        except NexusError:
            tail.damaged = True  # git nexus replay tells what is wrong with it
            return None
        return NewRunEvents(run, events, tail.view, first) if events else None


def has_run_ended(view: RunView) -> bool:
    """Return True if a run has ended."""
    return view.status in ENDED
