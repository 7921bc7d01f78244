"""Checks the doc graph as a whole: ids, states, links, sizes. Pure; every finding has its file and line."""

from collections.abc import Iterator
from itertools import chain

from gitnexus.base.text import one_line
from gitnexus.docgraph.graph import DocGraph, find_part, is_external_link, linked_phase_paths, resolve_link_path
from gitnexus.docgraph.model import STATUSES, Doc, DocFinding, DocLink, ListItem
from gitnexus.docgraph.parse import ID
from gitnexus.docgraph.store import AGENDA, NEXUS

# An index that every prompt may carry: what is longer belongs into a phase.
MOST_LINES = 120
MOST_BYTES = 6 * 1024
# Kinds of rows in LINKS that name an id or a path, and those that name something that other rooms keep.
_DOCUMENTS = ("agenda", "doc", "phase", "plan", "research")
KINDS = (*_DOCUMENTS, "depends", "run", "task", "url")


def find_problems(graph: DocGraph) -> list[DocFinding]:
    """Return all problems, ordered by file and line."""
    found = chain(
        *(doc.findings for doc in (*graph.docs, *graph.notes)),
        *(paper.findings for paper in graph.papers),
        _check_agenda(graph),
        *(_check_form(doc) for doc in graph.docs if doc.sound),
        *(_check_phase(graph, doc) for doc in graph.phases if doc.sound),
        _check_ids(graph),
        _check_active_phases(graph),
        _check_cycles(graph),
        *(_check_links(graph, doc) for doc in (*graph.docs, *graph.notes) if doc.sound),
    )
    return sorted(set(found), key=lambda one: (one.path != AGENDA, one.path, one.line, one.code, one.message))


def _finding_at(doc: Doc, code: str, line: int, message: str, *, hint: bool = False) -> DocFinding:
    return DocFinding(code=code, path=doc.path, line=line, message=message, weight="hint" if hint else "problem")


def _check_agenda(graph: DocGraph) -> Iterator[DocFinding]:
    agenda = graph.agenda
    if agenda is None:
        yield DocFinding(code="no-agenda", path=AGENDA, line=1, message="there is no AGENDA.md: git nexus agenda init")
        return
    if len(agenda.lines) > MOST_LINES:
        words = f"{len(agenda.lines)} lines are too many for an index, {MOST_LINES} are allowed: move some to a phase"
        yield _finding_at(agenda, "oversized", MOST_LINES + 1, words)
    elif len(agenda.raw) > MOST_BYTES:
        words = f"{len(agenda.raw)} bytes are too many for an index, {MOST_BYTES} are allowed: move some to a phase"
        yield _finding_at(agenda, "oversized", agenda.raw[:MOST_BYTES].count(b"\n") + 1, words)
    if agenda.sound:
        linked = linked_phase_paths(agenda)
        for doc in graph.phases:
            if doc.path not in linked:
                yield _finding_at(doc, "not-in-agenda", 1, "AGENDA.md does not link this phase")


def _check_form(doc: Doc) -> Iterator[DocFinding]:
    """Yield violations of the form of one document."""
    tops = [one for one in doc.sections if one.level == 1]
    for one in tops[1:]:
        yield _finding_at(
            doc, "several-titles", one.first, f"a second top heading; the first is on line {tops[0].first}"
        )
    seen: dict[str, int] = {}
    for one in doc.sections:
        if one.name in seen:
            yield _finding_at(doc, "section-twice", one.first, f"{one.title} is on line {seen[one.name]} already")
        seen.setdefault(one.name, one.first)
    if doc.id and not ID.fullmatch(doc.id):
        words = f"{one_line(doc.id, 40)!r} is not an id: a letter, then letters, digits, _ . or -, at most 80"
        yield _finding_at(doc, "bad-id", doc.line_of("ID"), words)


def _check_phase(graph: DocGraph, doc: Doc) -> Iterator[DocFinding]:
    if not doc.id:
        yield _finding_at(doc, "no-id", doc.line_of("ID"), "a phase needs an ID in its front matter")
    if doc.status not in STATUSES:
        given = one_line(doc.status, 40) or "none"
        yield _finding_at(
            doc, "bad-status", doc.line_of("STATUS"), f"STATUS is {given}, and should be {', '.join(STATUSES)}"
        )
    waits = [one for one in doc.steps if not one.done]
    if doc.status == "done":
        for one in waits:
            yield _finding_at(doc, "open-step", one.first, f"{one_line(one.text, 60)!r} is open, but the phase is done")
    if doc.status == "active":
        for link in doc.links:
            needed = _doc_by_id(graph, link.target) if link.kind == "depends" else None
            if needed in graph.phases and needed is not None and needed.status not in ("done", "dropped"):
                words = f"it is active, but waits for {needed.id}, which is {needed.status or 'without a status'}"
                yield _finding_at(doc, "waits", link.line, words)
    yield from _check_agenda_box(graph, doc)


def _check_agenda_box(graph: DocGraph, doc: Doc) -> Iterator[DocFinding]:
    """Yield phases whose box in AGENDA.md contradicts the phase's status."""
    row = agenda_row_of_phase(graph, doc)
    if graph.agenda is None or row is None or row.done is None or row.done == (doc.status == "done"):
        return
    words = (
        f"{doc.id or doc.path} is {doc.status or 'without a status'}, but its box is {'' if row.done else 'not '}ticked"
    )
    yield _finding_at(graph.agenda, "box", row.first, words)


def agenda_row_of_phase(graph: DocGraph, phase: Doc) -> ListItem | None:
    """Return the row of AGENDA.md that links a phase."""
    if graph.agenda is None:
        return None
    lines = [
        one.line
        for one in graph.agenda.links
        if resolve_link_path(AGENDA, one.target)[0] == phase.path and not one.kind
    ]
    rows = [one for one in graph.agenda.items for line in lines if one.first <= line <= one.last]
    return max(rows, key=lambda one: one.depth, default=None)


def _check_ids(graph: DocGraph) -> Iterator[DocFinding]:
    """Yield ids that are used twice: of documents in the graph, of parts in one document."""
    seen: dict[str, str] = {}
    rows = [(doc.id, doc.path, doc.line_of("ID")) for doc in (*graph.docs, *graph.notes) if doc.id]
    rows += [(paper.id, paper.path, 1) for paper in graph.papers]
    for name, path, line in rows:
        if name in seen and not _is_same_paper(seen[name], path):
            yield DocFinding(code="id-twice", path=path, line=line, message=f"{name} is the id of {seen[name]} already")
        seen.setdefault(name, path)
    for doc in (*graph.docs, *graph.notes):
        inside: dict[str, int] = {}
        marks = [(one.first, one.id) for one in doc.sections] + [(one.first, one.id) for one in doc.items]
        for line, mark in sorted(marks):
            if mark and mark in inside:
                yield _finding_at(doc, "id-twice", line, f"{{#{mark}}} is on line {inside[mark]} already")
            inside.setdefault(mark, line)


def _is_same_paper(one: str, other: str) -> bool:
    """Return True for the two forms of one piece of research: x.json for programs, x.md for people."""
    return one.rpartition(".")[0] == other.rpartition(".")[0]


def _check_active_phases(graph: DocGraph) -> Iterator[DocFinding]:
    active = graph.active
    for doc in active[1:]:
        first = active[0]
        words = f"a second active phase; {first.path}:{first.line_of('STATUS')} is active, too"
        yield _finding_at(doc, "several-active", doc.line_of("STATUS"), words)


def _check_cycles(graph: DocGraph) -> Iterator[DocFinding]:
    waits = {
        doc.id: {link.target: link.line for link in doc.links if link.kind == "depends"}
        for doc in graph.phases
        if doc.id
    }
    for doc in graph.phases:
        reached, todo = set(), [*waits.get(doc.id, ())]
        while todo:
            one = todo.pop()
            if one == doc.id:
                yield _finding_at(
                    doc, "cycle", min(waits[doc.id].values()), "it waits for itself, over what it depends on"
                )
                break
            if one not in reached:
                reached.add(one)
                todo += waits.get(one, ())


def _check_links(graph: DocGraph, doc: Doc) -> Iterator[DocFinding]:
    for link in doc.links:
        words = _link_problem(graph, doc, link)
        if words:
            code, message = words
            yield _finding_at(doc, code, link.line, message, hint=code == "link-kind")


def _link_problem(graph: DocGraph, doc: Doc, link: DocLink) -> tuple[str, str] | None:
    """Return what is wrong with a link, None if its target exists."""
    target = link.target
    if not target:
        return "broken-link", "a link leads nowhere"
    if link.kind == "url" or (is_external_link(target) and not link.kind):
        return None
    if link.kind and link.kind not in KINDS:
        return "link-kind", f"{one_line(link.kind, 30)} is not a kind of link; there are: {', '.join(KINDS)}"
    if link.kind == "run":
        return None if target in graph.known.runs else ("unknown-id", f"there is no run {one_line(target, 60)}")
    if link.kind == "task":
        foreign = ":" in target  # of another project: whether it is there is for git nexus orphans to say
        return (
            None
            if foreign or graph.known.has_task(target)
            else ("unknown-id", f"there is no task {one_line(target, 60)}")
        )
    if link.kind and not _is_path_target(target):
        return _link_id_problem(graph, link)
    return _link_path_problem(graph, doc, link)


def _link_id_problem(graph: DocGraph, link: DocLink) -> tuple[str, str] | None:
    name, _, word = link.target.partition("#")
    kind = "phase" if link.kind == "depends" else link.kind
    if any(paper.id == name for paper in graph.papers):
        return None
    doc = _doc_by_id(graph, name)
    if doc is None or (link.kind == "depends" and doc not in graph.phases):
        return "unknown-id", f"there is no {kind} {one_line(name, 60)}"
    if word and find_part(doc, word) is None:
        return "broken-link", f"{doc.path} has no part {one_line(word, 60)}"
    return None


def _link_path_problem(graph: DocGraph, doc: Doc, link: DocLink) -> tuple[str, str] | None:
    path, heading = resolve_link_path(doc.path, link.target, from_top=bool(link.kind))
    shown = one_line(link.target, 80)
    if path == ".." or path.startswith("../"):
        return "broken-link", f"{shown} leads out of the repository"
    if not graph.files.has(path):
        where = "on refs/nexus/state" if path.startswith(NEXUS) else "in the repository"
        return "broken-link", f"{shown} leads nowhere: there is no {one_line(path, 80)} {where}"
    other = graph.at(path) if heading and path.endswith(".md") else None
    if other is not None and other.sound and not _has_part(other, heading):
        return "broken-link", f"{path} has no part {one_line(heading, 60)}"
    return None


def _has_part(doc: Doc, heading: str) -> bool:
    first, _, last = heading.removeprefix("L").partition("-")
    numbers = heading.startswith("L") and first.isdigit() and last.removeprefix("L").isdigit() | (not last)
    return bool(numbers) or find_part(doc, heading) is not None


def _is_path_target(target: str) -> bool:
    where = target.partition("#")[0]
    return "/" in where or where.endswith((".md", ".json"))


def _doc_by_id(graph: DocGraph, name: str) -> Doc | None:
    return next((one for one in (*graph.docs, *graph.notes) if one.id == name), None)
