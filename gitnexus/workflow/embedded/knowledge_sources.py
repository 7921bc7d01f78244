"""Passages of what is known besides files: notes, rules, context, tasks, research before, closed cycles, commits."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitnexus.backlog.store import tasks_in
from gitnexus.base.errors import NexusError
from gitnexus.base.text import is_text
from gitnexus.git import GitFailed
from gitnexus.memory.notes import notes_in, readable, shelf_in
from gitnexus.packs import Library
from gitnexus.packs.find import Finder
from gitnexus.packs.lines import shown
from gitnexus.packs.past import cycle_told, cycles_in
from gitnexus.packs.refs import parsed
from gitnexus.state import Snapshot
from gitnexus.workflow.embedded.passages import Kind, Passage, Weighed, passage_in, quoted
from gitnexus.workflow.specialist import Commit, View

MOST_COMMITS = 500
_FRONT = 2000
_OURS = re.compile(rb'^BY: "[^"\n]*\bembedded"$', re.MULTILINE)


class Text(NamedTuple):
    """A short text that can be found: `ref` is one that packs resolve."""

    kind: Kind
    ref: str
    where: str
    body: str


def texts_in(state: Snapshot) -> Iterator[Text]:
    """Yield what the state holds, in the order of its kinds and names."""
    for note in notes_in(state):
        yield Text("memory", f"memory:{note.name}", f"the note {note.name}", readable(note.text))
    for name, body in shelf_in(state, "rules").items():
        yield Text("rule", f"rule:{name}", f"the rule {name}", readable(body))
    for name, body in shelf_in(state, "context").items():
        yield Text("context", f"context:{name}", f"the context {name}", readable(body))
    for file, raw in state.files("research").items():
        # What rules found before only quotes what they find again, and holds every word of its question.
        if file.endswith(".md") and not _OURS.search(raw[:_FRONT]):
            body = raw.decode("utf-8", "replace")
            yield Text("research", f"file:.nexus/research/{file}", f"the research {file[:-3]}", body)
    for task in tasks_in(state):
        lines = [task.title, task.description or "", *task.acceptance, *task.notes]
        yield Text("task", f"task:{task.id}", f"the task {task.id} ({task.status})", "\n".join(filter(None, lines)))
    for number, cycle in cycles_in(state).items():
        yield Text("cycle", f"cycle:{number}", f"the closed cycle {number}", cycle_told(cycle))


def shelved(texts: Sequence[Text], weighed: Weighed) -> list[Passage]:
    """Return the texts that hold something that is asked for, the best first."""
    found = []
    for text in texts:
        # Names that no reference can hold belong to nobody's question either.
        if not is_text(text.ref) or not text.ref.isprintable():
            continue
        lines = shown(text.body.encode("utf-8", "replace")).lines
        # The name counts as a heading does.
        named = [f"# {text.ref.partition(':')[2]}", *lines]
        passage = passage_in(text.kind, text.ref, text.where, named, weighed)
        found += [passage] if passage is not None else []
    return sorted(found, key=lambda one: (-one.score, one.ref))


def committed(view: View, weighed: Weighed) -> tuple[list[Passage], int]:
    """Return the commits whose subject holds something that is asked for, and how many were looked at."""
    log = view.log(MOST_COMMITS)
    found = []
    for at, commit in enumerate(log):
        passage = passage_in("commit", f"commit:{commit.id}", told(commit), _subject(commit), weighed)
        # Of two that fit alike, the newer one.
        found += [(-passage.score, at, passage)] if passage is not None else []
    return [passage for _, _, passage in sorted(found, key=lambda row: row[:2])], len(log)


def told(commit: Commit) -> str:
    """Return a commit as people name it."""
    return f"the commit {commit.id[:12]}"


def given(library: Library, refs: Sequence[str], weighed: Weighed) -> tuple[list[Passage], list[str]]:
    """Return a passage of each reference that somebody named, and those that lead nowhere with the reason."""
    finder = Finder(library.base, library.state, library.artifact)
    found: list[Passage] = []
    missing: list[str] = []
    for text in dict.fromkeys(refs):
        try:
            candidate = finder.found(parsed(text))
        except GitFailed:
            raise
        except NexusError as exc:
            missing.append(f"{text}: {exc.message}")
            continue
        kind: Kind = "code" if candidate.kind in ("file", "grep", "artifact") else "doc"
        passage = passage_in(kind, candidate.ref, candidate.ref, candidate.rows, weighed)
        if passage is None:
            first = next((row for row in candidate.rows if row.strip()), "")
            passage = Passage(kind, candidate.ref, candidate.ref, quoted(first), frozenset(), 0.0)
        found.append(passage)
    return found, missing


def _subject(commit: Commit) -> list[str]:
    return shown(commit.subject.encode("utf-8", "replace")).lines[:1] or [""]
