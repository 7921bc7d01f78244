"""Computes edits of the documents when a phase changes or a run ends: returns new texts, writes nothing."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.errors import Duplicate, Failed, Invalid, NotFound
from gitnexus.base.frontmatter import render_front_matter
from gitnexus.base.text import one_line
from gitnexus.docgraph.check import agenda_row_of_phase
from gitnexus.docgraph.edit import refuse_unsound, with_box, with_link, with_row, with_status
from gitnexus.docgraph.graph import DocGraph, find_part
from gitnexus.docgraph.model import Doc, ListItem
from gitnexus.docgraph.parse import parse_doc
from gitnexus.docgraph.store import AGENDA, PHASES

SECTION = "PHASES"
_FILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_PREFIX = "phase."
_EMPTY = "".join(f"\n{name}:\n" for name in ("GOAL", "DELIVERABLES", "CONSTRAINTS", "OPEN_QUESTIONS"))


class DocEdit(NamedTuple):
    """The old and new content of a document; `before` is None for a new one."""

    path: str
    before: bytes | None
    after: bytes
    why: str


def edits_for_new_agenda(graph: DocGraph, title: str) -> list[DocEdit]:
    """Return a first AGENDA.md with the existing phases. Raises: Duplicate, Invalid."""
    if graph.agenda is not None:
        raise Duplicate(f"{AGENDA} already exists", hint="git nexus agenda show")
    rows = [_agenda_row_text(one.path, one.title, done=one.status == "done") for one in graph.phases]
    front = render_front_matter(["ID: agenda"])
    text = f"{front}\n# {_require_title(title)}\n\nGOAL:\n\nGLOBAL_CONSTRAINTS:\n\n{SECTION}:\n"
    return [DocEdit(AGENDA, None, (text + "".join(f"- {row}\n" for row in rows)).encode(), "begin the agenda")]


def edits_for_new_phase(graph: DocGraph, name: str, title: str) -> list[DocEdit]:
    """Return a new planned phase, and the agenda with a link to it. Raises: Duplicate, Invalid, NotFound."""
    stem = name.removeprefix(_PREFIX)
    if not _FILE.fullmatch(stem):
        raise Invalid(
            f"{one_line(name, 60)!r} cannot be the name of a phase",
            hint="lower-case letters, digits, _ and -, as in core_loop",
        )
    path, agenda = f"{PHASES}/{stem}.md", _require_agenda(graph)
    if any(one.path == path or one.id == _PREFIX + stem for one in graph.phases) or graph.files.has(path):
        raise Duplicate(f"{path} already exists", hint=f"git nexus agenda phase show {stem}")
    shown = _require_title(title or stem.replace("_", " ").replace("-", " ").capitalize())
    front = render_front_matter([f"ID: {_PREFIX}{stem}", "STATUS: planned"])
    text = f"{front}\n# {shown}\n{_EMPTY}"
    linked = with_row(agenda, SECTION, _agenda_row_text(path, shown, done=False), path)
    return [
        DocEdit(path, None, text.encode(), f"plan {_PREFIX}{stem}"),
        DocEdit(AGENDA, agenda.raw, linked, f"link {_PREFIX}{stem}"),
    ]


def edits_to_start_phase(graph: DocGraph, phase: Doc, *, switch: bool = False) -> list[DocEdit]:
    """Return the edits that make a phase active; with `switch` the active one becomes planned again.

    Raises: Failed, Invalid, Conflict.
    """
    others = [one for one in graph.active if one.path != phase.path]
    if others and not switch:
        raise Failed(
            f"{_phase_name(others[0])} is active, and only one phase is at a time",
            hint=f"end it with git nexus agenda phase done {_phase_name(others[0])}, "
            "or add --switch to make it planned again",
        )
    waits = [one for one in _needed_phases(graph, phase) if one.status not in ("done", "dropped")]
    if waits:
        raise Failed(f"{_phase_name(phase)} waits for {', '.join(map(_phase_name, waits))}", hint="finish that first")
    edits = [_status_edit(one, "planned", f"put {_phase_name(one)} back") for one in others]
    edits.append(_status_edit(phase, "active", f"start {_phase_name(phase)}"))
    return _only_changes([*edits, *_agenda_box_edits(graph, phase, done=False)])


def edits_to_finish_phase(graph: DocGraph, phase: Doc, *, force: bool = False) -> list[DocEdit]:
    """Return the edits that mark a phase as done, in its file and the agenda. Raises: Failed while steps are open."""
    waits = [one for one in phase.steps if not one.done]
    if waits and not force:
        shown = "; ".join(f"{phase.path}:{one.first} {one_line(one.text, 60)}" for one in waits[:5])
        more = f" and {len(waits) - 5} more" if len(waits) > 5 else ""
        raise Failed(
            f"{_phase_name(phase)} has {len(waits)} open steps: {shown}{more}",
            hint="tick them first (git nexus agenda tick), or add --force",
        )
    return _only_changes(
        [_status_edit(phase, "done", f"finish {_phase_name(phase)}"), *_agenda_box_edits(graph, phase, done=True)]
    )


def edits_to_tick_step(graph: DocGraph, phase: Doc, word: str, *, done: bool = True) -> list[DocEdit]:
    """Return a phase with one step ticked or unticked. Raises: NotFound, Invalid."""
    step = find_step(phase, word)
    return _only_changes(
        [DocEdit(phase.path, phase.raw, with_box(phase, step, done), f"{'tick' if done else 'open'} {word}")]
    )


def edits_after_run(
    graph: DocGraph, phase: Doc, run: str, steps: Sequence[str] = (), *, finish: bool = False
) -> list[DocEdit]:
    """Return the edits after a run: its phase links it, the steps it did are ticked, and with `finish` it is done.

    They become an agenda patch, which the gate decides on. Raises: NotFound, Failed, Invalid.
    """
    now = parse_doc(with_link(phase, "run", run), phase.path)
    for word in steps:
        now = parse_doc(with_box(now, find_step(now, word), True), phase.path)
    words = f"link the run {run}" + (f", tick {', '.join(steps)}" if steps else "")
    linked = DocEdit(phase.path, phase.raw, now.raw, words)
    if not finish:
        return _only_changes([linked])
    rows = {one.path: one for one in edits_to_finish_phase(graph, now)}
    after = rows.pop(phase.path).after if phase.path in rows else now.raw
    return _only_changes(
        [DocEdit(phase.path, phase.raw, after, f"{words}, finish {_phase_name(phase)}"), *rows.values()]
    )


def find_step(phase: Doc, word: str) -> ListItem:
    """Return a step by its id, its line number, or its text. Raises: NotFound, Invalid."""
    refuse_unsound(phase)
    found = find_part(phase, word)
    steps = phase.steps
    if isinstance(found, ListItem) and found.done is not None:
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


def _require_agenda(graph: DocGraph) -> Doc:
    if graph.agenda is None:
        raise NotFound(f"there is no {AGENDA}", hint="git nexus agenda init makes one", fix="git nexus agenda init")
    refuse_unsound(graph.agenda)
    return graph.agenda


def _status_edit(doc: Doc, status: str, why: str) -> DocEdit:
    return DocEdit(doc.path, doc.raw, with_status(doc, status) if doc.status != status else doc.raw, why)


def _agenda_box_edits(graph: DocGraph, phase: Doc, *, done: bool) -> list[DocEdit]:
    row = agenda_row_of_phase(graph, phase)
    if graph.agenda is None or row is None or row.done is None:
        return []
    return [DocEdit(AGENDA, graph.agenda.raw, with_box(graph.agenda, row, done), f"tick {_phase_name(phase)}")]


def _only_changes(edits: list[DocEdit]) -> list[DocEdit]:
    return [one for one in edits if one.before != one.after]


def _needed_phases(graph: DocGraph, phase: Doc) -> list[Doc]:
    wanted = {one.target for one in phase.links if one.kind == "depends"}
    return [one for one in graph.phases if one.id in wanted]


def _phase_name(doc: Doc) -> str:
    return doc.id or doc.path


def _agenda_row_text(path: str, title: str, *, done: bool) -> str:
    return f"[{'x' if done else ' '}] [{title}]({path})"


def _require_title(text: str) -> str:
    """Return the title if it is one line of plain Markdown. Raises: Invalid."""
    shown = " ".join(text.split())
    if not shown or len(shown) > 100 or not shown.isprintable() or re.search(r"[\[\]<>`\\{}#*|]", shown):
        raise Invalid(
            f"{one_line(text, 60)!r} cannot be a title",
            hint="one line of at most 100 characters, without marks of Markdown",
        )
    return shown
