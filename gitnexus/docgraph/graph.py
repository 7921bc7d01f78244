"""The doc graph: documents by path and id, the order of phases, and the resolution of references."""

import difflib
import posixpath
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.docgraph.model import Doc, DocFinding, DocSection, ListItem
from gitnexus.docgraph.parse import normalize_heading, parse_doc
from gitnexus.docgraph.store import AGENDA, PHASES, PLANS, RESEARCH, DocumentFiles

_LINES = re.compile(r"L(\d{1,7})(?:-L?(\d{1,7}))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ID_KEYS = ("id", "plan_id", "planId", "research_id", "researchId")


@dataclass(frozen=True, slots=True)
class StatePaper:
    """A plan or a piece of research on the state ref: its path, and its id (by default its file name)."""

    path: str
    id: str
    findings: tuple[DocFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownIds:
    """Data of other rooms: the runs of this project, and a test whether a task id exists."""

    runs: Collection[str] = ()
    has_task: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class DocGraph:
    """All documents, read once. `others` are the targets of links, parsed on first use."""

    files: DocumentFiles
    agenda: Doc | None
    phases: tuple[Doc, ...]
    papers: tuple[StatePaper, ...]
    notes: tuple[Doc, ...]
    known: KnownIds
    _others: dict[str, Doc | None] = field(default_factory=dict)

    @property
    def docs(self) -> list[Doc]:
        """The documents that must follow the strict form."""
        return [*([self.agenda] if self.agenda else []), *self.phases]

    @property
    def active(self) -> list[Doc]:
        """The active phases; normally one."""
        return [one for one in self.phases if one.status == "active"]

    def at(self, path: str) -> Doc | None:
        """Return the document at a path, None if there is none or it is not Markdown."""
        for one in (*self.docs, *self.notes):
            if one.path == path:
                return one
        if path not in self._others:
            self._others[path] = _read_doc(self.files, path) if path.endswith(".md") else None
        return self._others[path]

    def named(self, word: str) -> Doc | None:
        """Return the document with this id or path."""
        plain = posixpath.normpath(word) if word else ""
        found = next((one for one in (*self.docs, *self.notes) if one.id == word), None)
        return found or (self.at(plain) if plain.endswith(".md") else None)

    def phase(self, word: str) -> Doc:
        """Return the phase for a word: its id, its id without `phase.`, its path or its file name.

        Raises: NotFound.
        """
        for one in self.phases:
            stem = one.path.rpartition("/")[2].removesuffix(".md")
            if word in (one.id, one.id.removeprefix("phase."), one.path, stem):
                return one
        near = _closest_name(word, [one.id for one in self.phases if one.id])
        hint = f"did you mean {near}?" if near else "git nexus agenda phase list shows them"
        raise NotFound(f"there is no phase {one_line(word, 60)!r}", hint=hint)


def read_doc_graph(files: DocumentFiles, known: KnownIds | None = None) -> DocGraph:
    """Read the graph. A document that cannot be parsed is included, with its findings."""
    agenda = _read_doc(files, AGENDA)
    phases = _read_docs(files, PHASES)
    order = {target: at for at, target in enumerate(linked_phase_paths(agenda))} if agenda else {}
    phases.sort(key=lambda one: (order.get(one.path, len(order)), one.path))
    papers = [
        _read_paper(files, f"{folder}/{name}")
        for folder in (PLANS, RESEARCH)
        for name in files.names(folder)
        if name.endswith(".json")
    ]
    return DocGraph(
        files, agenda, tuple(phases), tuple(papers), tuple(_read_docs(files, RESEARCH)), known or KnownIds()
    )


def linked_phase_paths(agenda: Doc) -> list[str]:
    """Return the phases that an agenda links to, in order."""
    found = [
        resolve_link_path(agenda.path, link.target)[0] for link in agenda.links if link.kind in ("", "phase", "doc")
    ]
    return list(dict.fromkeys(path for path in found if path.startswith(f"{PHASES}/")))


def resolve_link_path(path: str, target: str, *, from_top: bool = False) -> tuple[str, str]:
    """Return the target of a link in the document at `path`, relative to the top, and the heading after #.

    A link in the text is relative to its own folder, as in any Markdown; a row of LINKS is relative to the top.
    """
    where, _, heading = target.partition("#")
    if not where:
        return path, heading
    if where.startswith("/"):
        return posixpath.normpath(where.lstrip("/") or "."), heading
    above = "" if from_top else posixpath.dirname(path)
    return posixpath.normpath(posixpath.join(above, where)), heading


def is_external_link(target: str) -> bool:
    """Return True for a target outside of the repository: an address with a scheme or host."""
    return _SCHEME.match(target) is not None or target.startswith("//")


def find_part(doc: Doc, word: str) -> DocSection | ListItem | None:
    """Return the section or row with this id or, failing that, this heading."""
    rows: list[DocSection | ListItem] = [*doc.sections, *doc.items]
    found = next((one for one in rows if one.id and one.id == word), None)
    name = normalize_heading(word)
    return found or next((one for one in doc.sections if name and one.name == name), None)


def lines_of_part(doc: Doc, word: str) -> tuple[int, int]:
    """Return the lines of a part of a document, such as GOAL, an id or L10-L20. Raises: NotFound."""
    if not word:
        return 1, len(doc.lines)
    lines = _LINES.fullmatch(word)
    if lines:
        first, last = int(lines[1]), min(int(lines[2] or lines[1]), len(doc.lines))
        if 1 <= first <= last:
            return first, last
        raise NotFound(f"{doc.path} has {len(doc.lines)} lines, not {word}")
    found = find_part(doc, word)
    if found is None:
        names = [one.id or one.name for one in doc.sections if one.name]
        near = _closest_name(normalize_heading(word), names)
        hint = f"did you mean {near}?" if near else f"it has: {', '.join(names[:12]) or 'no headings'}"
        raise NotFound(f"{doc.path} has no part {one_line(word, 60)!r}", hint=hint)
    return found.first, found.last


def _read_docs(files: DocumentFiles, folder: str) -> list[Doc]:
    found = (_read_doc(files, f"{folder}/{name}") for name in files.names(folder) if name.endswith(".md"))
    return [one for one in found if one is not None]


def _read_doc(files: DocumentFiles, path: str) -> Doc | None:
    blob = files.read(path)
    return replace(parse_doc(blob.data, path), blob=blob.oid) if blob is not None else None


def _read_paper(files: DocumentFiles, path: str) -> StatePaper:
    blob = files.read(path)
    stem = path.rpartition("/")[2].removesuffix(".json")
    try:
        value = parse_json(blob.data if blob is not None else b"")
    except Invalid as exc:
        return StatePaper(path, stem, (DocFinding(code="json", path=path, line=1, message=f"it is {exc.message}"),))
    if not isinstance(value, dict):
        return StatePaper(path, stem, (DocFinding(code="json", path=path, line=1, message="it should be an object"),))
    told = (value.get(key) for key in _ID_KEYS)
    return StatePaper(path, next((one for one in told if isinstance(one, str) and one), stem))


def _closest_name(word: str, names: Collection[str]) -> str:
    return next(iter(difflib.get_close_matches(word, list(names), n=1, cutoff=0.6)), "")
