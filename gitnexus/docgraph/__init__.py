"""The doc graph: what a project is about, for people and in pieces for prompts.

AGENDA.md and the phases in `docs/phases/` are files of the code, plans and research are files of the state; this room
reads both, says what does not hold together, cuts parts out by heading or id, and edits by the byte.
"""

from gitnexus.docgraph.graph import Graph, Known, load
from gitnexus.docgraph.slicing import Slice, slice_of
from gitnexus.docgraph.store import Checkout, Committed, Shelf

__all__ = ["Checkout", "Committed", "Graph", "Known", "Shelf", "Slice", "load", "slice_of"]
