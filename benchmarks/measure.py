"""Two things measured in turn, so that a busy machine slows both: only the ratio is told."""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

# With this in the environment each figure is the median of a few rounds: enough to see one that went astray.
QUICK = "NEXUS_BENCH_QUICK"


@dataclass(frozen=True)
class Ratio:
    """What was measured, beside what, and how many times as long it may take."""

    what: str
    yardstick: str
    ours: float
    theirs: float
    limit: float
    unit: str = "ms"

    @property
    def value(self) -> float:
        return self.ours / self.theirs

    def line(self) -> str:
        mark = "ok  " if self.value <= self.limit else "OVER"
        factor = 1000 if self.unit == "ms" else 1
        return (
            f"{mark} {self.value:5.2f}x (at most {self.limit:.1f}x)  {self.what}: {self.ours * factor:.2f} {self.unit}"
            f" beside {self.yardstick}: {self.theirs * factor:.2f} {self.unit}"
        )


def rounds_of(usual: int) -> int:
    """Return how often something is measured: as often as usual, or an eighth of that and at least twice."""
    return min(usual, max(2, usual // 8)) if os.environ.get(QUICK) else usual


def compare(
    what: str,
    ours: Callable[[], object],
    yardstick: str,
    theirs: Callable[[], object],
    limit: float,
    rounds: int,
    before: Callable[[], object] = lambda: None,
) -> Ratio:
    """Run both alternately and compare the medians; `before` sets the scene for ours and is not counted."""
    mine: list[float] = []
    other: list[float] = []
    for function in (ours, theirs):
        function()
    for _ in range(rounds_of(rounds)):
        for prepare, function, times in ((lambda: None, theirs, other), (before, ours, mine)):
            prepare()
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
    return Ratio(what, yardstick, statistics.median(mine), statistics.median(other), limit)
