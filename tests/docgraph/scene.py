"""Documents in memory, and the graph that they make."""

from collections.abc import Callable, Mapping
from typing import cast

from gitnexus.docgraph import DocGraph, DocumentFiles, KnownIds, read_doc_graph
from gitnexus.docgraph.store import Blob
from gitnexus.git import Objects, blob_id
from gitnexus.state import Snapshot

AGENDA = """---
ID: agenda
---

# Agenda

GLOBAL_CONSTRAINTS:
- no network

PHASES:
- [x] [First](docs/phases/first.md)
- [ ] [Second](docs/phases/second.md)
"""
FIRST = """---
ID: phase.first
STATUS: done
---

# First

GOAL:
- begin

DELIVERABLES:
- [x] write it {#write}
"""
SECOND = """---
ID: phase.second
STATUS: active   # since Monday
DEPENDS: [phase.first]
LINKS:
  - doc: readme.md#Use
---

# Second

GOAL:
- go on

DELIVERABLES:
- [ ] test it {#test}
- [ ] ship it
"""
README = "# Readme\n\n## Use\n\ntext\n"
SOUND = {"AGENDA.md": AGENDA, "docs/phases/first.md": FIRST, "docs/phases/second.md": SECOND, "readme.md": README}


class Memory:
    """A tree of files that are only here."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def read(self, path: str) -> Blob | None:
        data = self.files.get(path)
        return Blob(data, blob_id(data, "sha1")) if data is not None else None

    def has(self, path: str) -> bool:
        return path == "." or any(name == path or name.startswith(f"{path}/") for name in self.files)

    def names(self, folder: str) -> list[str]:
        found = (name.rpartition("/") for name in self.files)
        return sorted(name for above, _, name in found if above == folder)


def graph(
    files: Mapping[str, str | bytes] | None = None, runs: tuple[str, ...] = (), tasks: tuple[str, ...] = ()
) -> DocGraph:
    """Return the graph of some files, or of a sound set of them with these in their place."""
    texts = {
        name: text.encode() if isinstance(text, str) else text for name, text in {**SOUND, **(files or {})}.items()
    }
    # A snapshot of nothing asks git for nothing.
    empty = Snapshot(cast(Objects, None), None)
    known: Callable[[str], bool] = lambda task: task in tasks  # noqa: E731
    return read_doc_graph(DocumentFiles(Memory(texts), empty), KnownIds(runs=runs, has_task=known))
