"""Computes agent metrics of a project from the logs of all its runs."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from gitnexus.base import clock
from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.events.measure import MeasuredWork, MeasuredWorker, RunMeasure, WorkerTally, measure_run
from gitnexus.gateway.recorder import run_folder
from gitnexus.runs.claimed_decisions import claimed_events
from gitnexus.runs.logs import iterate_logs
from gitnexus.state import State

_AGO = re.compile(r"(\d{1,5}) ?(h|d|w)")
_HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(frozen=True, slots=True)
class Metrics:
    """The tally of each agent, busiest first, and the total. `unreadable` lists runs counted partly or not at all."""

    workers: dict[MeasuredWorker, WorkerTally]
    total: WorkerTally
    unreadable: tuple[str, ...]
    # The same by kind of task: the type of the node.
    work: dict[MeasuredWork, WorkerTally] = field(default_factory=dict)


def collect_metrics(state: State, since: datetime | None = None) -> Metrics:
    """Return the metrics of the runs that began at `since` or later. Raises: NexusError."""
    begin = since.astimezone(UTC).strftime("%y%m%d-%H%M") if since else ""
    folder = run_folder(state.repo.common_dir, "x").parent
    found, unreadable = [], []
    for run, raw in iterate_logs(state.repo, state.objects, folder, begin):
        one = measure_run(raw, claimed_events(state, run, raw)) if raw is not None else None
        if one is None or one.unreadable or not one.run:
            unreadable.append(run)
        if one is not None and one.run and _is_since(one, since):
            found.append(one)
    return sum_measures(found, unreadable)


def sum_measures(found: list[RunMeasure], unreadable: list[str]) -> Metrics:
    """Return the sums of many runs."""
    workers: dict[MeasuredWorker, WorkerTally] = {}
    work: dict[MeasuredWork, WorkerTally] = {}
    total = WorkerTally()
    for one in found:
        for kind, tally in one.work.items():
            work.setdefault(kind, WorkerTally()).add(tally)
        run = WorkerTally()
        for worker, tally in one.workers.items():
            workers.setdefault(worker, WorkerTally()).add(tally)
            run.add(tally)
        # The total counts a run once, however many agents worked in it.
        run.runs, run.completed, run.failed = 1, min(run.completed, 1), min(run.failed, 1)
        total.add(run)
    ordered = sorted(workers.items(), key=lambda row: (-row[1].runs, row[0]))
    return Metrics(dict(ordered), total, tuple(unreadable), dict(sorted(work.items())))


def parse_since(text: str, now: datetime) -> datetime:
    """Parse a time such as 2026-11-01, a timestamp, or an age such as 12h, 30d or 2w. Raises: Invalid."""
    ago = _AGO.fullmatch(text.strip())
    found = now - timedelta(hours=int(ago[1]) * _HOURS[ago[2]]) if ago else clock.parse_timestamp(text.strip())
    if found is None:
        raise Invalid(
            f"{one_line(text, 40)!r} is no time", hint="a day such as 2026-11-01, or how long ago: 12h, 30d, 2w"
        )
    return found


def success_rate(good: int, bad: int) -> float | None:
    """Return the share of successes, None if nothing was recorded."""
    return good / (good + bad) if good + bad else None


def tally_as_json(tally: WorkerTally) -> dict[str, Any]:
    """Return a tally for JSON, with null for values that were not recorded."""
    return {
        "runs": tally.runs,
        "completed": tally.completed,
        "failed": tally.failed,
        "schema": {"valid": tally.valid, "invalid": tally.invalid, "rate": success_rate(tally.valid, tally.invalid)},
        "patches": {"applied": tally.applied, "failed": tally.unfit, "rate": success_rate(tally.applied, tally.unfit)},
        "tests": {"passed": tally.passed, "failed": tally.broken, "rate": success_rate(tally.passed, tally.broken)},
        "steps": tally.steps,
        "retries": tally.retries,
        "retriesPerStep": tally.retries / tally.steps if tally.steps else None,
        "batches": tally.batches,
        "unitsPerBatch": tally.units / tally.batches if tally.batches else None,
        "approvals": {
            "asked": tally.asked,
            "approved": tally.approved,
            "widened": tally.widened,
            "denied": tally.denied,
            "deniedByPolicy": tally.refused,
        },
        "claimed": tally.claimed,
        "tokens": {"input": tally.input, "output": tally.output} if tally.metered else None,
        "toolCalls": {"answered": tally.called, "refused": tally.uncalled},
        "costUsd": tally.cost / 1_000_000 if tally.costed else None,
    }


def _is_since(one: RunMeasure, since: datetime | None) -> bool:
    began = clock.parse_timestamp(one.started)
    return since is None or began is None or began >= since
