"""Ranks the tasks that are ready: by priority, then by the length and number of the tasks that wait for them. Pure."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from gitnexus.backlog import graph
from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.hierarchy import local_dependencies
from gitnexus.backlog.model import PRIORITIES, BacklogTask, id_sort_key
from gitnexus.backlog.readiness import is_ready
from gitnexus.backlog.tasks import Tasks


class TaskCandidate(NamedTuple):
    """A task that can start. `chain` is the longest chain of waiting tasks with itself, `impact` the number of all."""

    task: BacklogTask
    chain: int
    impact: int
    critical: bool
    mine: bool

    def reasons_for_rank(self) -> list[str]:
        """Return the reasons for its rank, one sentence each."""
        said = ["you have claimed it"] if self.mine else []
        said.append("it is ready: nothing that it depends on is open")
        said.append(f"its priority is {self.task.priority}")
        if self.critical and self.chain > 1:
            said.append(f"it is on the critical path: the longest chain of open tasks, {self.chain}, begins with it")
        elif self.chain > 1:
            said.append(f"a chain of {self.chain} tasks begins with it")
        said.append(
            f"{_format_task_count(self.impact, 'wait')} for it" if self.impact else "no other task waits for it"
        )
        return said


class TaskRanking(NamedTuple):
    """Every candidate, best first, and the reasons why other open tasks are not candidates."""

    candidates: Sequence[TaskCandidate]
    blocked: int
    claimed: int
    parents: int
    cycles: list[list[str]]

    def why_no_candidate(self) -> list[str]:
        """Return why no task can start."""
        said = (
            [f"{_format_task_count(self.blocked, 'wait')} for others or for what is in the way"] if self.blocked else []
        )
        said += [f"others have claimed {_format_task_count(self.claimed)}"] if self.claimed else []
        said += [f"{' → '.join([*ring, ring[0]])} wait for each other" for ring in self.cycles]
        return said or ["no task is open"]


def rank_tasks(tasks: Tasks, who: Callable[[], str], now: datetime, elsewhere: ForeignTasks) -> TaskRanking:
    """Return the ranked tasks that `who` can start; `who` is called only if a task is claimed."""
    open_now = {task.id: task for task in tasks if task.is_open}
    edges = waiting_edges(open_now.values(), elsewhere)
    # A task in a cycle never becomes ready; without the cycles the rest has an order.
    ringed = {one for ring in graph.cyclic_components(edges) for one in ring}
    cycles = graph.find_cycles(edges) if ringed else []
    free = {one: [ref for ref in wanted if ref not in ringed] for one, wanted in edges.items() if one not in ringed}
    chains, impacts = graph.chain_lengths(free), graph.impact_counts(free)
    longest = max(chains.values(), default=0)
    found, counts = [], {"blocked": 0, "claimed": 0, "parents": 0}
    for task in open_now.values():
        holder = task.held_by(now)
        if any(child.is_open for child in tasks.children(task.id)):
            counts["parents"] += 1
        elif not is_ready(task, tasks, elsewhere):
            counts["blocked"] += 1
        elif holder is not None and holder != who():
            counts["claimed"] += 1
        else:
            chain = chains.get(task.id, 1)
            found.append(TaskCandidate(task, chain, impacts.get(task.id, 0), chain == longest, holder is not None))
    return TaskRanking(sorted(found, key=_rank_key), **counts, cycles=cycles)


def waiting_edges(open_tasks: Iterable[BacklogTask], elsewhere: ForeignTasks) -> dict[str, list[str]]:
    """Return for each open task the open tasks of this project that it depends on."""
    rows = {task.id: task for task in open_tasks}
    return {one: [ref for ref in local_dependencies(task, elsewhere) if ref in rows] for one, task in rows.items()}


def _rank_key(candidate: TaskCandidate) -> tuple[object, ...]:
    task = candidate.task
    return (
        not candidate.mine,
        PRIORITIES.index(task.priority),
        -candidate.chain,
        -candidate.impact,
        task.status != "active",
        id_sort_key(task.id),
    )


def _format_task_count(count: int, verb: str = "") -> str:
    words = f"1 task {verb}s" if count == 1 else f"{count} tasks {verb}"
    return words if verb else words.removesuffix(" s").rstrip()


def ranking_as_json(found: TaskRanking) -> dict[str, Any]:
    """Return the choice with its reasons, and the next two, for JSON."""
    best = found.candidates[0] if found.candidates else None
    return {
        "task": best.task.shown() if best else None,
        "why": best.reasons_for_rank() if best else found.why_no_candidate(),
        "ready": len(found.candidates),
        "blocked": found.blocked,
        "claimed": found.claimed,
        "alternatives": [
            {"id": other.task.id, "title": other.task.title, "why": other.reasons_for_rank()}
            for other in found.candidates[1:3]
        ],
        "cycles": found.cycles,
    }
