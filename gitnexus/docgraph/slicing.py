"""A part of a document, cut out by a reference, with what is needed to find it again."""

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.docgraph.graph import Graph, place
from gitnexus.docgraph.model import Doc


class Slice(Record):
    """Lines of a document. `blob` is the id that git gives the whole of it: who has that can cut the same again."""

    ref: str
    text: str
    path: str
    first_line: int
    last_line: int
    blob: str


def slice_of(graph: Graph, ref: str) -> Slice:
    """Return what a reference means: `PATH` or `ID`, and after # a heading, an id or lines (`L10-L20`).

    Raises: NotFound, Invalid for a document that cannot be read.
    """
    where, _, word = ref.partition("#")
    doc = graph.named(where) if where else graph.agenda
    if doc is None:
        doc = _phase(graph, where)
    if not doc.sound:
        found = doc.findings[0]
        raise Invalid(f"{doc.path}:{found.line}: {found.message}", hint="git nexus agenda check tells all of it")
    first, last = place(doc, word)
    return Slice(ref=ref, text=doc.cut(first, last), path=doc.path, first_line=first, last_line=last, blob=doc.blob)


def _phase(graph: Graph, word: str) -> Doc:
    try:
        return graph.phase(word)
    except NotFound as exc:
        raise NotFound(f"there is no document {one_line(word, 60)!r}", hint=exc.hint) from exc
