"""Finds related tasks in all projects: selects candidates from the index and scores them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gitnexus.backlog.model import number_of_id
from gitnexus.projects.index.model import IndexRow, TaskIndex
from gitnexus.projects.index.posting_lists import FILES, LABELS, WORDS
from gitnexus.projects.scoring import (
    BASES,
    DECAY,
    SIBLING,
    Scores,
    hierarchy_boost,
    jaccard_similarity,
    similarity_by_weight,
)

_KINDS = {"labels": LABELS, "description": WORDS, "files": FILES}
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class RelatedQuery:
    """The parameters of the search."""

    method: str = "auto"
    threshold: float = 0.6
    context: bool = False

    @property
    def least(self) -> float:
        """The minimum base score, as ancestors may add to it."""
        return self.threshold - SIBLING if self.method == "auto" else self.threshold

    @property
    def key(self) -> str:
        return f"{self.method} {self.threshold!r} {self.context}"


def find_related_tasks(index: TaskIndex, source: IndexRow, query: RelatedQuery) -> list[dict[str, Any]]:
    """Return the sufficiently related tasks of all projects, unsorted and without permission checks.

    The result is cached until a project changes, even if it is empty.
    """
    kept = index.answer(source.project, source.id, query.key)
    if kept is not None:
        found: list[dict[str, Any]] = kept
        return found
    with index.reading():
        rows = [row for row in candidate_rows(index, source, query) if row.n != source.n]
        lines = _context_words(index, [source, *rows]) if query.context else {}
        scored = [(row, compute_scores(source, row, lines)) for row in rows]
    answer = [
        _describe_relation(source, row, marks, query.method)
        for row, marks in scored
        if marks.by(query.method) > 0 and marks.by(query.method) >= query.threshold
    ]
    index.keep(source.project, source.id, query.key, answer)
    return answer


def candidate_rows(index: TaskIndex, source: IndexRow, query: RelatedQuery) -> list[IndexRow]:
    """Return the tasks that could reach the threshold."""
    if query.method == "hierarchy":
        return _family_rows(index, source)
    if query.context:
        return list(index.rows())
    numbers: set[int] = set()
    for name in BASES:
        if query.method in ("auto", name):
            numbers |= index.sharing(
                _KINDS[name], getattr(source, "words" if name == "description" else name), query.least
            )
    found = index.tasks(numbers)
    if query.method == "auto" and query.threshold <= SIBLING:
        found += [row for row in _family_rows(index, source) if row.n not in numbers]
    return found


def compute_scores(source: IndexRow, row: IndexRow, lines: Mapping[int, Mapping[str, float]]) -> Scores:
    """Return every component of how two tasks are related."""
    described = (
        similarity_by_weight(lines[source.n], lines[row.n]) if lines else jaccard_similarity(source.words, row.words)
    )
    return Scores(
        jaccard_similarity(source.labels, row.labels),
        described,
        jaccard_similarity(source.files, row.files),
        hierarchy_boost(source.ancestors, row.ancestors, one_project=source.project == row.project),
    )


def rank_answers(
    answer: Collection[Mapping[str, Any]], names: Mapping[str, str], readable: Callable[[str], bool], limit: int
) -> list[dict[str, Any]]:
    """Return the best readable results: by score, then project name, then task number."""
    seen = [row for row in answer if row["project"] in names and readable(row["project"])]
    best = sorted(seen, key=lambda row: (-row["score"], names[row["project"]], number_of_id(row["id"]), row["id"]))
    return [
        {
            "taskId": f"{row['project']}:{row['id']}",
            "ref": f"{names[row['project']]}:{row['id']}",
            "project": names[row["project"]],
            "title": row["title"],
            "status": row["status"],
            "score": round(row["score"], 2),
            "method": row["method"],
            "reason": row["reason"],
            "scores": row["scores"],
        }
        for row in best[:limit]
    ]


def _family_rows(index: TaskIndex, source: IndexRow) -> list[IndexRow]:
    if not source.parent:
        return []
    where = "WHERE project.hash = ? AND (task.parent = ? OR (task.grandparent = ? AND task.grandparent IS NOT NULL))"
    return list(index.rows(where, (source.project, source.parent, source.grandparent)))


def _context_words(index: TaskIndex, rows: list[IndexRow]) -> dict[int, dict[str, float]]:
    """Return every task's words with its ancestors', which count half and a quarter."""
    by_key = {(row.project, row.id): row for row in rows}
    for row in list(rows):
        for name in row.ancestors:
            if (row.project, name) not in by_key:
                above = index.task(row.project, name)
                if above:
                    by_key[row.project, name] = above
    found = {}
    for row in rows:
        line = [row, *(by_key[row.project, name] for name in row.ancestors if (row.project, name) in by_key)]
        weights: dict[str, float] = {}
        for one, weight in zip(line, DECAY, strict=False):
            for word in one.words:
                weights[word] = max(weights.get(word, 0.0), weight)
        found[row.n] = weights
    return found


def _describe_relation(source: IndexRow, row: IndexRow, marks: Scores, method: str) -> dict[str, Any]:
    by = marks.best_base() if method == "auto" else method
    if method == "auto" and max(marks.labels, marks.description, marks.files) == 0:
        by = "hierarchy"
    return {
        "project": row.project,
        "id": row.id,
        "title": row.title,
        "status": row.status,
        "score": marks.by(method),
        "method": by,
        "reason": _relation_reason(source, row, by),
        "scores": marks.plain(),
    }


def _relation_reason(source: IndexRow, row: IndexRow, by: str) -> str:
    if by == "hierarchy":
        return f"Same parent: {row.parent}" if row.parent == source.parent else f"Same grandparent: {row.grandparent}"
    name = "words" if by == "description" else by
    shared = sorted(getattr(source, name) & getattr(row, name))
    more = f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else ""
    return f"Shared {name}: {', '.join(shared[:_SHOWN])}{more}"
