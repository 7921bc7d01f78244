"""Find related tasks: candidates from the index, scored one by one."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gitnexus.backlog.model import number_of
from gitnexus.projects.index import Index, Row
from gitnexus.projects.postings import FILES, LABELS, WORDS
from gitnexus.projects.scoring import BASES, DECAY, SIBLING, Scores, boost, jaccard, weighted

_KINDS = {"labels": LABELS, "description": WORDS, "files": FILES}
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked for."""

    method: str = "auto"
    threshold: float = 0.6
    context: bool = False

    @property
    def least(self) -> float:
        """What a base score must reach, since ancestors may add something."""
        return self.threshold - SIBLING if self.method == "auto" else self.threshold

    @property
    def key(self) -> str:
        return f"{self.method} {self.threshold!r} {self.context}"


def related(index: Index, source: Row, asked: Asked) -> list[dict[str, Any]]:
    """Return every task of every project that is related enough, unsorted, nobody's permission applied.

    The answer is kept until a project changes, also when it is empty.
    """
    kept = index.answer(source.project, source.id, asked.key)
    if kept is not None:
        found: list[dict[str, Any]] = kept
        return found
    with index.reading():
        rows = [row for row in candidates(index, source, asked) if row.n != source.n]
        lines = _contexts(index, [source, *rows]) if asked.context else {}
        scored = [(row, scores(source, row, lines)) for row in rows]
    answer = [_told(source, row, marks, asked.method) for row, marks in scored
              if marks.by(asked.method) > 0 and marks.by(asked.method) >= asked.threshold]  # fmt: skip
    index.keep(source.project, source.id, asked.key, answer)
    return answer


def candidates(index: Index, source: Row, asked: Asked) -> list[Row]:
    """Return the tasks that could reach the threshold."""
    if asked.method == "hierarchy":
        return _family(index, source)
    if asked.context:
        return list(index.rows())
    numbers: set[int] = set()
    for name in BASES:
        if asked.method in ("auto", name):
            numbers |= index.sharing(
                _KINDS[name], getattr(source, "words" if name == "description" else name), asked.least
            )
    found = index.tasks(numbers)
    if asked.method == "auto" and asked.threshold <= SIBLING:
        found += [row for row in _family(index, source) if row.n not in numbers]
    return found


def scores(source: Row, row: Row, lines: Mapping[int, Mapping[str, float]]) -> Scores:
    """Return every component of how two tasks are related."""
    described = weighted(lines[source.n], lines[row.n]) if lines else jaccard(source.words, row.words)
    return Scores(
        jaccard(source.labels, row.labels),
        described,
        jaccard(source.files, row.files),
        boost(source.ancestors, row.ancestors, one_project=source.project == row.project),
    )


def ranked(
    answer: Collection[Mapping[str, Any]], names: Mapping[str, str], readable: Callable[[str], bool], limit: int
) -> list[dict[str, Any]]:
    """Return the best of what may be read: by score, then the project's name, then the task's number."""
    seen = [row for row in answer if row["project"] in names and readable(row["project"])]
    best = sorted(seen, key=lambda row: (-row["score"], names[row["project"]], number_of(row["id"]), row["id"]))
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


def _family(index: Index, source: Row) -> list[Row]:
    if not source.parent:
        return []
    where = "WHERE project.hash = ? AND (task.parent = ? OR (task.grandparent = ? AND task.grandparent IS NOT NULL))"
    return list(index.rows(where, (source.project, source.parent, source.grandparent)))


def _contexts(index: Index, rows: list[Row]) -> dict[int, dict[str, float]]:
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


def _told(source: Row, row: Row, marks: Scores, method: str) -> dict[str, Any]:
    by = marks.best() if method == "auto" else method
    if method == "auto" and max(marks.labels, marks.description, marks.files) == 0:
        by = "hierarchy"
    return {
        "project": row.project,
        "id": row.id,
        "title": row.title,
        "status": row.status,
        "score": marks.by(method),
        "method": by,
        "reason": _reason(source, row, by),
        "scores": marks.plain(),
    }


def _reason(source: Row, row: Row, by: str) -> str:
    if by == "hierarchy":
        return f"Same parent: {row.parent}" if row.parent == source.parent else f"Same grandparent: {row.grandparent}"
    name = "words" if by == "description" else by
    shared = sorted(getattr(source, name) & getattr(row, name))
    more = f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else ""
    return f"Shared {name}: {', '.join(shared[:_SHOWN])}{more}"
