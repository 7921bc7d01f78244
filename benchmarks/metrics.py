"""Counting many runs beside reading the same logs with json.loads."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from events import HASH, story
from measure import Ratio, compare

from gitnexus.events import RunLog
from gitnexus.events.log import EventDraft
from gitnexus.events.measure import measure_run
from gitnexus.runs.metrics import sum_measures

RUNS, EVENTS = 50, 2000


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for number in range(RUNS):
            run = f"261116-{number:04d}-k7fb"
            log = RunLog(Path(scratch, run))
            first = EventDraft("workflow.started", "person:ann", {"run": run, "definition": HASH, "agent": "claude"})
            log.append_many([first, *list(story(EVENTS))[1:]])
            paths.append(log.path)

        def plainly() -> None:
            for path in paths:
                with path.open("rb") as handle:
                    for line in handle:
                        json.loads(line)

        def ours() -> None:
            found = sum_measures([measure_run(path.read_bytes()) for path in paths], [])
            assert found.total.applied == RUNS * (EVENTS // 10)

        what = f"metrics of {RUNS} runs, {RUNS * EVENTS:,} events"
        yield compare(what, ours, "json.loads of each line", plainly, 1.2, 5)
