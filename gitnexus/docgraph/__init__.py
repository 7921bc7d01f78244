"""The doc graph: the documents that describe a project's goals, for people and in parts for prompts.

AGENDA.md and the phases in `docs/phases/` are files of the code, plans and research are files of the state. This room
reads both, reports inconsistencies, extracts parts by heading or id, and edits without changing other bytes.
"""

from gitnexus.docgraph.graph import DocGraph, KnownIds, read_doc_graph
from gitnexus.docgraph.slicing import DocSlice, slice_from_reference
from gitnexus.docgraph.store import CommitFiles, DocumentFiles, WorktreeFiles

__all__ = [
    "CommitFiles",
    "DocGraph",
    "DocSlice",
    "DocumentFiles",
    "KnownIds",
    "WorktreeFiles",
    "read_doc_graph",
    "slice_from_reference",
]
