"""How well agents do in this project: the logs of all its runs, counted and put together."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from gitnexus.app.claims import claimed_events
from gitnexus.app.recorder import folder_of
from gitnexus.base import clock
from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.events.measure import RunMeasure, Tally, Worker, measure
from gitnexus.runs.logs import logs
from gitnexus.state import State

_AGO = re.compile(r"(\d{1,5}) ?(h|d|w)")
_HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(frozen=True, slots=True)
class Metrics:
    """Each worker's count, the busiest first, and the sum. `unreadable` are runs that count in part or not at all."""

    workers: dict[Worker, Tally]
    total: Tally
    unreadable: tuple[str, ...]


def metrics_of(state: State, since: datetime | None = None) -> Metrics:
    """Return what the logs of all runs tell, of those that began at `since` or later. Raises: NexusError."""
    begin = since.astimezone(UTC).strftime("%y%m%d-%H%M") if since else ""
    folder = folder_of(state.repo.common_dir, "x").parent
    found, unreadable = [], []
    for run, raw in logs(state.repo, state.objects, folder, begin):
        one = measure(raw, claimed_events(state, run, raw)) if raw is not None else None
        if one is None or one.unreadable or not one.run:
            unreadable.append(run)
        if one is not None and one.run and _is_since(one, since):
            found.append(one)
    return put_together(found, unreadable)


def put_together(found: list[RunMeasure], unreadable: list[str]) -> Metrics:
    """Return the sums of many runs."""
    workers: dict[Worker, Tally] = {}
    total = Tally()
    for one in found:
        run = Tally()
        for worker, tally in one.workers.items():
            workers.setdefault(worker, Tally()).add(tally)
            run.add(tally)
        # A run is one run, however many agents worked in it.
        run.runs, run.completed, run.failed = 1, min(run.completed, 1), min(run.failed, 1)
        total.add(run)
    ordered = sorted(workers.items(), key=lambda row: (-row[1].runs, row[0]))
    return Metrics(dict(ordered), total, tuple(unreadable))


def moment(text: str, now: datetime) -> datetime:
    """Return the time that a person means: 2026-11-01, a stamp, or 12h, 30d, 2w ago. Raises: Invalid."""
    ago = _AGO.fullmatch(text.strip())
    found = now - timedelta(hours=int(ago[1]) * _HOURS[ago[2]]) if ago else clock.read(text.strip())
    if found is None:
        raise Invalid(
            f"{one_line(text, 40)!r} is no time", hint="a day such as 2026-11-01, or how long ago: 12h, 30d, 2w"
        )
    return found


def rate(good: int, bad: int) -> float | None:
    """Return the share of the good ones, None where nothing was recorded."""
    return good / (good + bad) if good + bad else None


def plain(tally: Tally) -> dict[str, Any]:
    """Return a count for JSON; null is what nothing was recorded of."""
    return {
        "runs": tally.runs,
        "completed": tally.completed,
        "failed": tally.failed,
        "schema": {"valid": tally.valid, "invalid": tally.invalid, "rate": rate(tally.valid, tally.invalid)},
        "patches": {"applied": tally.applied, "failed": tally.unfit, "rate": rate(tally.applied, tally.unfit)},
        "tests": {"passed": tally.passed, "failed": tally.broken, "rate": rate(tally.passed, tally.broken)},
        "steps": tally.steps,
        "retries": tally.retries,
        "retriesPerStep": tally.retries / tally.steps if tally.steps else None,
        "batches": tally.batches,
        "unitsPerBatch": tally.units / tally.batches if tally.batches else None,
        "approvals": {"asked": tally.asked, "approved": tally.approved, "widened": tally.widened,
                      "denied": tally.denied, "deniedByPolicy": tally.refused},
        "claimed": tally.claimed,
        "tokens": {"input": tally.input, "output": tally.output} if tally.metered else None,
        "costUsd": tally.cost / 1_000_000 if tally.costed else None,
    }  # fmt: skip


def _is_since(one: RunMeasure, since: datetime | None) -> bool:
    began = clock.read(one.started)
    return since is None or began is None or began >= since
