"""Jobs: the intermediate form between drafts and tasks, with deduplication and dependency order. Pure."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gitnexus.cycle.drafts import CHECK, TaskDraft

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskJob:
    """A task to be created: its drafts, and the result of the rules.

    `origins` are the positions of the drafts in the given list, `deps` the positions of other jobs, both from 1.
    """

    drafts: tuple[TaskDraft, ...]
    origins: tuple[int, ...]
    owner: str | None
    files: tuple[str, ...]
    deps: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    built: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    claim: str | None = None
    checks: int | None = None

    @property
    def is_check(self) -> bool:
        """True for who looks at what others made; such a job changes no file."""
        return self.owner in CHECK

    @property
    def issues(self) -> tuple[int, ...]:
        """The plan's issues that it comes from."""
        return without_repeats(draft.plan_issue for draft in self.drafts if draft.plan_issue is not None)


Jobs = tuple[TaskJob, ...]


def jobs_from_drafts(drafts: Sequence[TaskDraft], origins: Sequence[int] | None = None) -> Jobs:
    """Return one job for each draft."""
    places = origins or range(1, len(drafts) + 1)
    return tuple(
        TaskJob((draft,), (place,), draft.owner, draft.files, draft.deps, draft.after)
        for place, draft in zip(places, drafts, strict=True)
    )


def without_repeats(values: Iterable[T]) -> tuple[T, ...]:
    """Return the values without repeats, in the order of their first coming."""
    return tuple(dict.fromkeys(values))


def predecessor_bits(jobs: Jobs) -> list[int]:
    """Return for each job the places of all that come before it, however far, as bits."""
    before: dict[int, int] = {}
    for place in _dependency_order(jobs):
        bits = 0
        for dep in jobs[place - 1].deps:
            bits |= before[dep] | 1 << dep
        before[place] = bits
    return [before[place] for place in range(1, len(jobs) + 1)]


def join_fitting_jobs(
    jobs: Jobs, fit: Callable[[TaskJob, TaskJob], bool], join: Callable[[TaskJob, TaskJob], TaskJob]
) -> Jobs:
    """Return the jobs with all that fit together joined, the earliest first; sequenced jobs stay separate."""
    at = 1
    while at < len(jobs):
        later = _find_partner(jobs, at, fit)
        if later is None:
            at += 1  # what becomes one below never fits one above: it would have fitted a part of it
            continue
        pieces: list[tuple[tuple[int, ...], Jobs]] = [
            ((place,), (job,)) for place, job in enumerate(jobs, 1) if place != later
        ]
        pieces[at - 1] = ((at, later), (join(jobs[at - 1], jobs[later - 1]),))
        jobs = renumber_jobs(pieces)
    return jobs


def renumber_jobs(pieces: Sequence[tuple[tuple[int, ...], Jobs]]) -> Jobs:
    """Return the new jobs in order, their dependencies mapped from the old positions to the new ones."""
    became: dict[int, list[int]] = {}
    count = 0
    for old, new in pieces:
        for place in old:
            became[place] = list(range(count + 1, count + len(new) + 1))
        count += len(new)
    return tuple(
        replace(
            job,
            deps=tuple(sorted({place for dep in job.deps for place in became[dep]})),
            checks=None if job.checks is None else became[job.checks][0],
        )
        for _, new in pieces
        for job in new
    )


def in_dependency_order(jobs: Jobs) -> Jobs:
    """Return the jobs so that each comes after its dependencies, otherwise in draft order."""
    return renumber_jobs([((place,), (jobs[place - 1],)) for place in _dependency_order(jobs)])


def _dependency_order(jobs: Jobs) -> list[int]:
    waits = {place: set(job.deps) for place, job in enumerate(jobs, 1)}
    following: dict[int, list[int]] = {place: [] for place in waits}
    for place, deps in waits.items():
        for dep in deps:
            following[dep].append(place)
    ready = [_order_key(jobs, place) for place, deps in waits.items() if not deps]
    heapq.heapify(ready)
    found = []
    while ready:
        place = heapq.heappop(ready)[-1]
        found.append(place)
        for other in following[place]:
            waits[other].discard(place)
            if not waits[other]:
                heapq.heappush(ready, _order_key(jobs, other))
    return found


def _order_key(jobs: Jobs, place: int) -> tuple[int, bool, int]:
    job = jobs[place - 1]
    return min(job.origins), job.checks is not None, place


def _find_partner(jobs: Jobs, at: int, fit: Callable[[TaskJob, TaskJob], bool]) -> int | None:
    before = predecessor_bits(jobs)
    for later, other in enumerate(jobs[at:], at + 1):
        sequenced = before[at - 1] >> later & 1 or before[later - 1] >> at & 1
        if not sequenced and fit(jobs[at - 1], other):
            return later
    return None
