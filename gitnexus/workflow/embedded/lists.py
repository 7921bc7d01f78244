"""Finds lists that can become plan steps: in a prompt, an answer, a task, a phase, a file or an artifact."""

import re
from collections.abc import Iterator, Sequence

from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.reference import find_references
from gitnexus.backlog.store import tasks_in_snapshot
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.docgraph import DocGraph, DocumentFiles, read_doc_graph
from gitnexus.docgraph.model import Doc
from gitnexus.git import GitFailed
from gitnexus.packs import Library
from gitnexus.packs.find import ReferenceFinder
from gitnexus.packs.refs import PackReference, parse_reference
from gitnexus.workflow.embedded.outline import ListRow, Outline, parse_outline
from gitnexus.workflow.embedded.question import named_paths
from gitnexus.workflow.embedded.steps import StepSource

_REF = re.compile(r"(?<!\S)(?:doc|file|artifact|task):[^\s,;]+")
_PHASE_WORD = re.compile(r"\b(?:phase|agenda|milestone|meilenstein)\b", re.IGNORECASE)
_TO_DO = ("DELIVERABLES", "STEPS", "TODO", "TASKS")


class TodoLists:
    """Finds lists in one commit of the code and one of the state. `missing`: what was named and does not exist."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._graph: DocGraph | None = None
        self.missing: list[str] = []
        self.absent: list[str] = []  # of these, files that the prompt named as the list of steps
        self.known = frozenset(library.base.paths())
        self.tasks: Tasks = tasks_in_snapshot(library.state)

    @property
    def graph(self) -> DocGraph:
        """The doc graph."""
        if self._graph is None:
            self._graph = read_doc_graph(DocumentFiles(self._library.base, self._library.state))
        return self._graph

    def named(self, text: str, refs: Sequence[str], task: str) -> list[StepSource]:
        """Return the lists that a text and references name, in order, each once."""
        if ":" in task:
            self.missing.append(f"{one_line(task, 80)} is a task of another project, and its list is not read here")
        ids = [task] if task and ":" not in task else []
        ids += [row.task for row in find_references(text) if row.project in (None, "task")]
        found = [source for id_ in dict.fromkeys(ids) if (source := self.of_task(id_)) is not None]
        for ref in dict.fromkeys([*refs, *_REF.findall(text)]):
            found += self._lists_from_reference(ref.rstrip("."))
        for doc in self._phases_named_in(text):
            found += [self.list_of_phase(doc)]
        for path in named_paths(text, self.known):
            if path not in self.known and _lists_in(path).search(text):
                self.absent.append(path)
                self.missing.append(f"{path} is not in the commit that this begins at")
            if path.endswith(".md") and path in self.known and not any(_is_list_of(one, path) for one in found):
                found += [
                    one
                    for one in self._lists_from_reference(f"file:{path}")
                    if any(row.done is not None for row in one.rows)
                ]
        unique = {source.ref: source for source in reversed(found)}
        return [source for source in reversed(unique.values()) if source.rows]

    def of_task(self, id_: str) -> StepSource | None:
        """Return the acceptance list of a task; without one, its open subtasks, else the task itself as one row."""
        try:
            task = self.tasks.task(id_)
        except NexusError as exc:
            self.missing.append(exc.message)
            return None
        rows = [_row_from_criterion(one) for one in task.acceptance]
        below = [one for one in self.tasks.children(task.id) if one.is_open]
        rows += [ListRow(one.title, more=[ListRow(text) for text in one.acceptance]) for one in below]
        if not rows:
            self.missing.append(f"{task.id} has no acceptance list: it becomes one step")
            rows = [ListRow(task.title, notes=[task.description or ""])]
        waits = [one for one in task.depends if (found := self.tasks.find(one)) and found.is_open]
        if waits:
            self.missing.append(f"{task.id} depends on {', '.join(waits)}, which {_is_or_are(waits)} open")
        return StepSource(_task_label(task), f"task:{task.id}", tuple(rows), task.files, criteria=bool(task.acceptance))

    def list_of_phase(self, doc: Doc) -> StepSource:
        """Return the open steps of a phase; without checkboxes, its deliverables."""
        outline = parse_outline(doc.text[doc.text.index("\n---") + 4 :] if doc.front[1] else doc.text)
        rows = outline.boxed or self._deliverable_rows(doc)
        return StepSource(f"the phase {doc.id or doc.path}", f"doc:{doc.path}", tuple(rows))

    def active(self, text: str) -> StepSource | None:
        """Return the list of the active phase, if a text mentions the agenda at all."""
        if not _PHASE_WORD.search(text) or not self.graph.active:
            return None
        if len(self.graph.active) > 1:
            self.missing.append(f"several phases are active; {self.graph.active[0].path} was taken")
        found = self.list_of_phase(self.graph.active[0])
        return found if found.rows else None

    def _deliverable_rows(self, doc: Doc) -> list[ListRow]:
        section = next((one for one in doc.sections if one.name in _TO_DO), None)
        if section is None:
            return []
        return [
            ListRow(one.text, id=one.id)
            for one in doc.items
            if section.first <= one.first <= section.last and one.depth == 1
        ]

    def _phases_named_in(self, text: str) -> Iterator[Doc]:
        # Only where a phase could be meant: the documents are not read for nothing.
        if not (_PHASE_WORD.search(text) or "docs/phases/" in text):
            return
        for doc in self.graph.phases:
            stem = doc.path.rpartition("/")[2].removesuffix(".md")
            names = [re.escape(name) for name in (doc.id, doc.path, stem) if name]
            if re.search(rf"(?<![\w.-])(?:{'|'.join(names)})(?![\w-])", text):
                yield doc

    def _lists_from_reference(self, text: str) -> list[StepSource]:
        try:
            ref = parse_reference(text)
            if ref.kind == "task":
                found = self.of_task(ref.name)
                return [found] if found else []
            candidate = ReferenceFinder(self._library.base, self._library.state, self._library.artifact).found(ref)
        except GitFailed:
            raise
        except NexusError as exc:
            self.missing.append(f"{one_line(text, 120)}: {exc.message}")
            return []
        outline = parse_outline("\n".join(candidate.rows))
        return [StepSource(_reference_label(ref), candidate.ref, tuple(outline.boxed or _rows_without_box(outline)))]


def _lists_in(path: str) -> re.Pattern[str]:
    """Return the pattern of a phrase that names a file as the place of a list: the open steps in TODO.md."""
    return re.compile(
        r"\b(?:steps?|tasks?|items?|points?|todos?|list|left|open|schritte?|aufgaben|punkte|offenen?)\b[^.\n]*"
        rf"\b(?:in|from|of|aus|von)\s+[`'\"]?(?:\./)?{re.escape(path)}",
        re.IGNORECASE,
    )


def checklist_in_text(text: str, what: str) -> StepSource | None:
    """Return the checklist in a text, None if it has none."""
    rows = parse_outline(text).boxed
    return StepSource(what, "", tuple(rows)) if rows else None


def plain_list_in_text(text: str, what: str) -> StepSource | None:
    """Return a list without checkboxes and with at least two rows in a text."""
    rows = _rows_without_box(parse_outline(text))
    return StepSource(what, "", tuple(rows)) if len(rows) > 1 else None


def _rows_without_box(outline: Outline) -> list[ListRow]:
    return [row for row in outline.rows if row.done is None and row.text]


def _row_from_criterion(text: str) -> ListRow:
    """Return an acceptance criterion as a row; it may contain Markdown."""
    rows = parse_outline(text if text.lstrip().startswith(("-", "*", "1.")) else f"- {text}").rows
    return rows[0] if len(rows) == 1 else ListRow(text)


def _task_label(task: BacklogTask) -> str:
    return f"the task {task.id}, {one_line(task.title, 100)}"


def _reference_label(ref: PackReference) -> str:
    return one_line(str(ref), 120)


def _is_list_of(source: StepSource, path: str) -> bool:
    return source.ref.partition(":")[2].partition("#")[0] == path


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
