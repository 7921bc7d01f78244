"""The life of a phase, and what a run leaves behind in the documents: decisions that return texts and write nothing."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.errors import Duplicate, Failed, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.docgraph.check import agenda_row
from gitnexus.docgraph.edit import refuse_unsound, with_box, with_link, with_row, with_status
from gitnexus.docgraph.graph import Graph, part
from gitnexus.docgraph.model import Doc, Item
from gitnexus.docgraph.parse import parse
from gitnexus.docgraph.store import AGENDA, PHASES

SECTION = "PHASES"
_FILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_PREFIX = "phase."
_EMPTY = "".join(f"\n{name}:\n" for name in ("GOAL", "DELIVERABLES", "CONSTRAINTS", "OPEN_QUESTIONS"))


class Edit(NamedTuple):
    """A document that goes from one content to another; `before` is None for one that is new."""

    path: str
    before: bytes | None
    after: bytes
    why: str


def begun(graph: Graph, title: str) -> list[Edit]:
    """Return the first AGENDA.md, with the phases that are there. Raises: Duplicate, Invalid."""
    if graph.agenda is not None:
        raise Duplicate(f"{AGENDA} is there already", hint="git nexus agenda show")
    rows = [_row(one.path, one.title, done=one.status == "done") for one in graph.phases]
    text = f"---\nID: agenda\n---\n\n# {_title(title)}\n\nGOAL:\n\nGLOBAL_CONSTRAINTS:\n\n{SECTION}:\n"
    return [Edit(AGENDA, None, (text + "".join(f"- {row}\n" for row in rows)).encode(), "begin the agenda")]


def added(graph: Graph, name: str, title: str) -> list[Edit]:
    """Return a new phase that is planned, and the agenda that links it. Raises: Duplicate, Invalid, NotFound."""
    stem = name.removeprefix(_PREFIX)
    if not _FILE.fullmatch(stem):
        raise Invalid(
            f"{one_line(name, 60)!r} cannot be the name of a phase",
            hint="small letters, digits, _ and -, as in core_loop",
        )
    path, agenda = f"{PHASES}/{stem}.md", _agenda(graph)
    if any(one.path == path or one.id == _PREFIX + stem for one in graph.phases) or graph.shelf.has(path):
        raise Duplicate(f"{path} is there already", hint=f"git nexus agenda phase show {stem}")
    shown = _title(title or stem.replace("_", " ").replace("-", " ").capitalize())
    text = f"---\nID: {_PREFIX}{stem}\nSTATUS: planned\n---\n\n# {shown}\n{_EMPTY}"
    linked = with_row(agenda, SECTION, _row(path, shown, done=False), path)
    return [
        Edit(path, None, text.encode(), f"plan {_PREFIX}{stem}"),
        Edit(AGENDA, agenda.raw, linked, f"link {_PREFIX}{stem}"),
    ]


def started(graph: Graph, phase: Doc, *, switch: bool = False) -> list[Edit]:
    """Return what makes a phase the active one; with `switch` the one before goes back to planned.

    Raises: Failed, Invalid, Conflict.
    """
    others = [one for one in graph.active if one.path != phase.path]
    if others and not switch:
        raise Failed(
            f"{_name(others[0])} is active, and only one phase is at a time",
            hint=f"end it with git nexus agenda phase done {_name(others[0])}, or add --switch to put it back",
        )
    waits = [one for one in _needed(graph, phase) if one.status not in ("done", "dropped")]
    if waits:
        raise Failed(f"{_name(phase)} waits for {', '.join(map(_name, waits))}", hint="finish that first")
    edits = [_status(one, "planned", f"put {_name(one)} back") for one in others]
    edits.append(_status(phase, "active", f"start {_name(phase)}"))
    return _changes([*edits, *_boxed(graph, phase, done=False)])


def finished(graph: Graph, phase: Doc, *, force: bool = False) -> list[Edit]:
    """Return what makes a phase done, in its file and in the agenda. Raises: Failed while steps are open."""
    waits = [one for one in phase.steps if not one.done]
    if waits and not force:
        shown = "; ".join(f"{phase.path}:{one.first} {one_line(one.text, 60)}" for one in waits[:5])
        more = f" and {len(waits) - 5} more" if len(waits) > 5 else ""
        raise Failed(
            f"{_name(phase)} has {len(waits)} open steps: {shown}{more}",
            hint="tick them first (git nexus agenda tick), or add --force",
        )
    return _changes([_status(phase, "done", f"finish {_name(phase)}"), *_boxed(graph, phase, done=True)])


def ticked(graph: Graph, phase: Doc, word: str, *, done: bool = True) -> list[Edit]:
    """Return a phase with one step ticked, or open again. Raises: NotFound, Invalid."""
    step = step_of(phase, word)
    return _changes([Edit(phase.path, phase.raw, with_box(phase, step, done), f"{'tick' if done else 'open'} {word}")])


def after_run(graph: Graph, phase: Doc, run: str, steps: Sequence[str] = (), *, finish: bool = False) -> list[Edit]:
    """Return what a run leaves behind: its phase links it, the steps it did are ticked, and with `finish` it is done.

    This is the text of an agenda patch; whether it may be written, the gate says. Raises: NotFound, Failed, Invalid.
    """
    now = parse(with_link(phase, "run", run), phase.path)
    for word in steps:
        now = parse(with_box(now, step_of(now, word), True), phase.path)
    words = f"link the run {run}" + (f", tick {', '.join(steps)}" if steps else "")
    linked = Edit(phase.path, phase.raw, now.raw, words)
    if not finish:
        return _changes([linked])
    rows = {one.path: one for one in finished(graph, now)}
    after = rows.pop(phase.path).after if phase.path in rows else now.raw
    return _changes([Edit(phase.path, phase.raw, after, f"{words}, finish {_name(phase)}"), *rows.values()])


def step_of(phase: Doc, word: str) -> Item:
    """Return the step that a word means: its id, the number of its line, or its text. Raises: NotFound, Invalid."""
    refuse_unsound(phase)
    found = part(phase, word)
    steps = phase.steps
    if isinstance(found, Item) and found.done is not None:
        return found
    line = int(word.removeprefix("L")) if word.removeprefix("L").isdecimal() else 0
    near = [one for one in steps if one.first == line or one.text.casefold() == word.casefold()]
    if len(near) == 1:
        return near[0]
    known = ", ".join(one.id or f"L{one.first}" for one in steps[:12])
    raise NotFound(
        f"{phase.path} has no step {one_line(word, 60)!r}",
        hint=f"it has: {known}" if known else "a step is a row with a box, as in - [ ] write it {#write}",
    )


def _agenda(graph: Graph) -> Doc:
    if graph.agenda is None:
        raise NotFound(f"there is no {AGENDA}", hint="git nexus agenda init makes one", fix="git nexus agenda init")
    refuse_unsound(graph.agenda)
    return graph.agenda


def _status(doc: Doc, status: str, why: str) -> Edit:
    return Edit(doc.path, doc.raw, with_status(doc, status) if doc.status != status else doc.raw, why)


def _boxed(graph: Graph, phase: Doc, *, done: bool) -> list[Edit]:
    row = agenda_row(graph, phase)
    if graph.agenda is None or row is None or row.done is None:
        return []
    return [Edit(AGENDA, graph.agenda.raw, with_box(graph.agenda, row, done), f"tick {_name(phase)}")]


def _changes(edits: list[Edit]) -> list[Edit]:
    return [one for one in edits if one.before != one.after]


def _needed(graph: Graph, phase: Doc) -> list[Doc]:
    wanted = {one.target for one in phase.links if one.kind == "depends"}
    return [one for one in graph.phases if one.id in wanted]


def _name(doc: Doc) -> str:
    return doc.id or doc.path


def _row(path: str, title: str, *, done: bool) -> str:
    return f"[{'x' if done else ' '}] [{title}]({path})"


def _title(text: str) -> str:
    """Return a title that is one line of plain Markdown. Raises: Invalid."""
    shown = " ".join(text.split())
    if not shown or len(shown) > 100 or not shown.isprintable() or re.search(r"[\[\]<>`\\{}#*|]", shown):
        raise Invalid(
            f"{one_line(text, 60)!r} cannot be a title",
            hint="one line of at most 100 characters, without marks of Markdown",
        )
    return shown
