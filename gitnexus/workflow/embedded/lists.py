"""Where steps can come from: a list in the prompt or an answer, a task, a phase of the agenda, a file, an artifact."""

import re
from collections.abc import Iterator, Sequence

from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import tasks_in
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.docgraph import Graph, Shelf, load
from gitnexus.docgraph.model import Doc
from gitnexus.git import GitFailed
from gitnexus.packs import Library
from gitnexus.packs.find import Finder
from gitnexus.packs.refs import Ref, parsed
from gitnexus.workflow.embedded.asking import named_paths
from gitnexus.workflow.embedded.outline import Outline, Row, outline_of
from gitnexus.workflow.embedded.steps import Source

_TASK = re.compile(r"(?<![\w:/-])(?:task:)?(T\d{1,9})\b")
_REF = re.compile(r"(?<!\S)(?:doc|file|artifact|task):[^\s,;]+")
_PHASE_WORD = re.compile(r"\b(?:phase|agenda|milestone|meilenstein)\b", re.IGNORECASE)
_TO_DO = ("DELIVERABLES", "STEPS", "TODO", "TASKS")


class Lists:
    """Looks lists up in one commit of the code and one of the state. `missing`: what was named and is not there."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._graph: Graph | None = None
        self.missing: list[str] = []
        self.known = frozenset(library.base.paths())
        self.tasks: Tasks = tasks_in(library.state)

    @property
    def graph(self) -> Graph:
        """The documents."""
        if self._graph is None:
            self._graph = load(Shelf(self._library.base, self._library.state))
        return self._graph

    def named(self, text: str, refs: Sequence[str], task: str) -> list[Source]:
        """Return the lists that a text and references name, in their order, each once."""
        if ":" in task:
            self.missing.append(f"{one_line(task, 80)} is a task of another project, and its list is not read here")
        ids = [task] if task and ":" not in task else []
        ids += _TASK.findall(text)
        found = [source for id_ in dict.fromkeys(ids) if (source := self.of_task(id_)) is not None]
        for ref in dict.fromkeys([*refs, *_REF.findall(text)]):
            found += self._of_ref(ref.rstrip("."))
        for doc in self._phases_in(text):
            found += [self.of_phase(doc)]
        for path in named_paths(text, self.known):
            if path.endswith(".md") and path in self.known and not any(_is(one, path) for one in found):
                found += [one for one in self._of_ref(f"file:{path}") if any(row.done is not None for row in one.rows)]
        unique = {source.ref: source for source in reversed(found)}
        return [source for source in reversed(unique.values()) if source.rows]

    def of_task(self, id_: str) -> Source | None:
        """Return the acceptance list of a task; of one without, its open subtasks, else the task itself as one row."""
        try:
            task = self.tasks.task(id_)
        except NexusError as exc:
            self.missing.append(exc.message)
            return None
        rows = [_criterion(one) for one in task.acceptance]
        below = [one for one in self.tasks.children(task.id) if one.is_open]
        rows += [Row(one.title, more=[Row(text) for text in one.acceptance]) for one in below]
        if not rows:
            self.missing.append(f"{task.id} has no acceptance list: it is taken as one step")
            rows = [Row(task.title, notes=[task.description or ""])]
        waits = [one for one in task.depends if (found := self.tasks.find(one)) and found.is_open]
        if waits:
            self.missing.append(f"{task.id} depends on {', '.join(waits)}, which {_is_are(waits)} open")
        return Source(_told(task), f"task:{task.id}", tuple(rows), task.files, criteria=bool(task.acceptance))

    def of_phase(self, doc: Doc) -> Source:
        """Return the open steps of a phase; of one without boxes, what it is to deliver."""
        outline = outline_of(doc.text[doc.text.index("\n---") + 4 :] if doc.front[1] else doc.text)
        rows = outline.boxed or self._deliverables(doc)
        return Source(f"the phase {doc.id or doc.path}", f"doc:{doc.path}", tuple(rows))

    def active(self, text: str) -> Source | None:
        """Return the active phase's list, if a text speaks of the agenda at all."""
        if not _PHASE_WORD.search(text) or not self.graph.active:
            return None
        if len(self.graph.active) > 1:
            self.missing.append(f"several phases are active; {self.graph.active[0].path} was taken")
        found = self.of_phase(self.graph.active[0])
        return found if found.rows else None

    def _deliverables(self, doc: Doc) -> list[Row]:
        section = next((one for one in doc.sections if one.name in _TO_DO), None)
        if section is None:
            return []
        return [
            Row(one.text, id=one.id)
            for one in doc.items
            if section.first <= one.first <= section.last and one.depth == 1
        ]

    def _phases_in(self, text: str) -> Iterator[Doc]:
        # Only where a phase could be meant: the documents are not read for nothing.
        if not (_PHASE_WORD.search(text) or "docs/phases/" in text):
            return
        for doc in self.graph.phases:
            stem = doc.path.rpartition("/")[2].removesuffix(".md")
            names = [re.escape(name) for name in (doc.id, doc.path, stem) if name]
            if re.search(rf"(?<![\w.-])(?:{'|'.join(names)})(?![\w-])", text):
                yield doc

    def _of_ref(self, text: str) -> list[Source]:
        try:
            ref = parsed(text)
            if ref.kind == "task":
                found = self.of_task(ref.name)
                return [found] if found else []
            candidate = Finder(self._library.base, self._library.state, self._library.artifact).found(ref)
        except GitFailed:
            raise
        except NexusError as exc:
            self.missing.append(f"{one_line(text, 120)}: {exc.message}")
            return []
        outline = outline_of("\n".join(candidate.rows))
        return [Source(_named(ref), candidate.ref, tuple(outline.boxed or _plain(outline)))]


def in_text(text: str, what: str) -> Source | None:
    """Return the list with boxes that a text holds, None if it has none."""
    rows = outline_of(text).boxed
    return Source(what, "", tuple(rows)) if rows else None


def plain_in(text: str, what: str) -> Source | None:
    """Return a list without boxes of at least two rows that a text holds."""
    rows = _plain(outline_of(text))
    return Source(what, "", tuple(rows)) if len(rows) > 1 else None


def _plain(outline: Outline) -> list[Row]:
    return [row for row in outline.rows if row.done is None and row.text]


def _criterion(text: str) -> Row:
    """Return a condition as a row; people write Markdown there too."""
    rows = outline_of(text if text.lstrip().startswith(("-", "*", "1.")) else f"- {text}").rows
    return rows[0] if len(rows) == 1 else Row(text)


def _told(task: BacklogTask) -> str:
    return f"the task {task.id}, {one_line(task.title, 100)}"


def _named(ref: Ref) -> str:
    return one_line(str(ref), 120)


def _is(source: Source, path: str) -> bool:
    return source.ref.partition(":")[2].partition("#")[0] == path


def _is_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
