"""The logs of runs, as they grow: of those that are not over, and of those that begin while somebody watches.

A look costs a few `stat` calls where nothing happened. What is shown is read from the end of a log alone; whoever acts
on it reads and checks the whole.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gitnexus.app.bench import TERMINAL
from gitnexus.app.recorder import folder_of
from gitnexus.base.errors import NexusError
from gitnexus.events.fold import fold
from gitnexus.events.model import Event, from_line
from gitnexus.events.view import RunView
from gitnexus.runs.model import ENDED

_LOG = "events.jsonl"
_MOST_AT_ONCE = 4 * 1024 * 1024


class Seen(NamedTuple):
    """What is new of one run. `first`: it was there before anybody looked, and its events tell the past."""

    run: str
    events: tuple[Event, ...]
    view: RunView
    first: bool


@dataclass(slots=True)
class _Tail:
    path: Path
    at: int = 0
    size: int = -1
    view: RunView = field(default_factory=RunView)
    damaged: bool = False


class Watch:
    """Looks at the logs below a git folder. `over` are the runs whose records say that they are."""

    def __init__(self, common_dir: Path, over: frozenset[str]) -> None:
        self._place = folder_of(common_dir, "x").parent
        self._over = over
        self._tails: dict[str, _Tail] = {}
        self._stamp = -1
        self._begun = False

    @property
    def views(self) -> dict[str, RunView]:
        """The runs that are watched, by name."""
        return {run: tail.view for run, tail in self._tails.items() if tail.view.seq}

    def follow(self, run: str) -> None:
        """Watch a run that is over as well."""
        if run not in self._tails:
            self._tails[run] = _Tail(self._place / run / _LOG)

    def look(self) -> list[Seen]:
        """Return what is new since the last look."""
        self._find()
        found = [seen for run, tail in self._tails.items() if (seen := self._read(run, tail))]
        self._begun = True
        return found

    def _find(self) -> None:
        try:
            stamp = self._place.stat().st_mtime_ns
        except OSError:
            return
        if stamp == self._stamp:
            return
        self._stamp = stamp
        for name in sorted(os.listdir(self._place)):
            if name not in self._tails and name not in self._over and name != TERMINAL:
                self._tails[name] = _Tail(self._place / name / _LOG)

    def _read(self, run: str, tail: _Tail) -> Seen | None:
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
            events = tuple(from_line(line) for line in whole.split(b"\n")[:-1])
            tail.view = fold(events, tail.view)
        except NexusError:
            tail.damaged = True  # git nexus replay tells what is wrong with it
            return None
        return Seen(run, events, tail.view, first) if events else None


def is_over(view: RunView) -> bool:
    """True if a run has ended."""
    return view.status in ENDED
