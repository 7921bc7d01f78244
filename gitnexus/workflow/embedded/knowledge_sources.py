"""Finds passages outside of files: notes, rules, context, tasks, earlier research, closed cycles and commits."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitnexus.backlog.store import tasks_in_snapshot
from gitnexus.base.errors import NexusError
from gitnexus.base.text import is_utf8_name
from gitnexus.git import GitFailed
from gitnexus.memory.notes import json_safe_text, read_all_notes, read_text_folder
from gitnexus.packs import Library
from gitnexus.packs.find import ReferenceFinder
from gitnexus.packs.history_text import closed_cycles, render_cycle
from gitnexus.packs.lines import mask_lines
from gitnexus.packs.refs import parse_reference
from gitnexus.state import Snapshot
from gitnexus.workflow.embedded.passages import Kind, Passage, TermWeights, passage_in_text, plain_quote
from gitnexus.workflow.specialist import HistoryCommit, ProjectView

MOST_COMMITS = 500
_FRONT = 2000
_OURS = re.compile(rb'^BY: "[^"\n]*\bembedded"$', re.MULTILINE)


class SourceText(NamedTuple):
    """A short searchable text; `ref` is a reference that packs can resolve."""

    kind: Kind
    ref: str
    where: str
    body: str


def state_texts(state: Snapshot) -> Iterator[SourceText]:
    """Yield the texts of the state, ordered by kind and name."""
    for note in read_all_notes(state):
        yield SourceText("memory", f"memory:{note.name}", f"the note {note.name}", json_safe_text(note.text))
    for name, body in read_text_folder(state, "rules").items():
        yield SourceText("rule", f"rule:{name}", f"the rule {name}", json_safe_text(body))
    for name, body in read_text_folder(state, "context").items():
        yield SourceText("context", f"context:{name}", f"the context {name}", json_safe_text(body))
    for file, raw in state.files("research").items():
        # What rules found before only quotes what they find again, and holds every word of its question.
        if file.endswith(".md") and not _OURS.search(raw[:_FRONT]):
            body = raw.decode("utf-8", "replace")
            yield SourceText("research", f"file:.nexus/research/{file}", f"the research {file[:-3]}", body)
    for task in tasks_in_snapshot(state):
        lines = [task.title, task.description or "", *task.acceptance, *task.notes]
        yield SourceText(
            "task", f"task:{task.id}", f"the task {task.id} ({task.status})", "\n".join(filter(None, lines))
        )
    for number, cycle in closed_cycles(state).items():
        yield SourceText("cycle", f"cycle:{number}", f"the closed cycle {number}", render_cycle(cycle))


def passages_in_texts(texts: Sequence[SourceText], weighed: TermWeights) -> list[Passage]:
    """Return the texts that match the question, best first."""
    found = []
    for text in texts:
        # Names that no reference can hold belong to nobody's question either.
        if not is_utf8_name(text.ref) or not text.ref.isprintable():
            continue
        lines = mask_lines(text.body.encode("utf-8", "replace")).lines
        # The name counts as a heading does.
        named = [f"# {text.ref.partition(':')[2]}", *lines]
        passage = passage_in_text(text.kind, text.ref, text.where, named, weighed)
        found += [passage] if passage is not None else []
    return sorted(found, key=lambda one: (-one.score, one.ref))


def passages_in_log(view: ProjectView, weighed: TermWeights) -> tuple[list[Passage], int]:
    """Return the commits whose subject matches the question, and how many were searched."""
    log = view.log(MOST_COMMITS)
    found = []
    for at, commit in enumerate(log):
        passage = passage_in_text("commit", f"commit:{commit.id}", commit_label(commit), _subject_line(commit), weighed)
        # Of two that fit alike, the newer one.
        found += [(-passage.score, at, passage)] if passage is not None else []
    return [passage for _, _, passage in sorted(found, key=lambda row: row[:2])], len(log)


def commit_label(commit: HistoryCommit) -> str:
    """Return the display name of a commit."""
    return f"the commit {commit.id[:12]}"


def passages_in_references(
    library: Library, refs: Sequence[str], weighed: TermWeights
) -> tuple[list[Passage], list[str]]:
    """Return a passage for each given reference, and the unresolvable references with the reason."""
    finder = ReferenceFinder(library.base, library.state, library.artifact)
    found: list[Passage] = []
    missing: list[str] = []
    for text in dict.fromkeys(refs):
        try:
            candidate = finder.found(parse_reference(text))
        except GitFailed:
            raise
        except NexusError as exc:
            missing.append(f"{text}: {exc.message}")
            continue
        kind: Kind = "code" if candidate.kind in ("file", "grep", "artifact") else "doc"
        passage = passage_in_text(kind, candidate.ref, candidate.ref, candidate.rows, weighed)
        if passage is None:
            first = next((row for row in candidate.rows if row.strip()), "")
            passage = Passage(kind, candidate.ref, candidate.ref, plain_quote(first), frozenset(), 0.0)
        found.append(passage)
    return found, missing


def _subject_line(commit: HistoryCommit) -> list[str]:
    return mask_lines(commit.subject.encode("utf-8", "replace")).lines[:1] or [""]
