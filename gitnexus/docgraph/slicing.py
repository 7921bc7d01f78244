"""Extracts a part of a document by reference, with the data needed to find it again."""

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.docgraph.graph import DocGraph, lines_of_part
from gitnexus.docgraph.model import Doc


class DocSlice(Record):
    """Lines of a document. `blob` is the git id of the whole document, so that the same lines can be cut again."""

    ref: str
    text: str
    path: str
    first_line: int
    last_line: int
    blob: str


def slice_from_reference(graph: DocGraph, ref: str) -> DocSlice:
    """Return the lines of a reference: `PATH` or `ID`, and after # a heading, an id or lines (`L10-L20`).

    Raises: NotFound, Invalid for a document that cannot be parsed.
    """
    where, _, word = ref.partition("#")
    doc = graph.named(where) if where else graph.agenda
    if doc is None:
        doc = _find_phase(graph, where)
    if not doc.sound:
        found = doc.findings[0]
        raise Invalid(f"{doc.path}:{found.line}: {found.message}", hint="git nexus agenda check lists all problems")
    first, last = lines_of_part(doc, word)
    return DocSlice(ref=ref, text=doc.cut(first, last), path=doc.path, first_line=first, last_line=last, blob=doc.blob)


def _find_phase(graph: DocGraph, word: str) -> Doc:
    try:
        return graph.phase(word)
    except NotFound as exc:
        raise NotFound(f"there is no document {one_line(word, 60)!r}", hint=exc.hint) from exc
