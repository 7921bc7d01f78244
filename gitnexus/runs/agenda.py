"""Loads the document graph of a project, and computes the edits that a finished run proposes for its phase document."""

import difflib
import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gitnexus.backlog.store import tasks_in_snapshot
from gitnexus.base.errors import Failed, NotFound
from gitnexus.base.text import one_line
from gitnexus.docgraph import CommitFiles, DocGraph, DocumentFiles, KnownIds, WorktreeFiles, read_doc_graph
from gitnexus.docgraph.model import Doc
from gitnexus.docgraph.phases import DocEdit, edits_after_run
from gitnexus.git.child import run_git as git_run
from gitnexus.policy.model import AgendaRequest, ProposedAction
from gitnexus.runs.store import read_run, run_ids
from gitnexus.state import Snapshot, State
from gitnexus.state.format import project_id_of

ChangeEdits = Callable[[Doc, Sequence[DocEdit]], Sequence[DocEdit]]


class AgendaPatch(NamedTuple):
    """A proposed change to one document: the edit, the action shown to a person and the request for the gate."""

    edit: DocEdit
    action: ProposedAction
    request: AgendaRequest


def load_doc_graph(state: State, revision: str = "") -> DocGraph:
    """Return the documents of the checkout, or of a commit. Raises: Failed in a bare repository, NotFound."""
    snapshot = state.latest()
    tree = CommitFiles(state.objects, _resolve_commit(state, revision)) if revision else WorktreeFiles(state.repo)
    return read_doc_graph(DocumentFiles(tree, snapshot), _known_references(snapshot))


def write_edits(graph: DocGraph, edits: Sequence[DocEdit]) -> list[str]:
    """Write edits into the checkout, each file at once, and return their paths. Raises: Conflict, Failed."""
    tree = graph.files.tree
    if not isinstance(tree, WorktreeFiles):
        raise Failed("a commit is not written to", hint="leave --at out")
    for edit in edits:
        tree.write(edit.path, edit.before, edit.after)
    return [edit.path for edit in edits]


def only_active_phase(graph: DocGraph) -> Doc:
    """Return the only active phase. Raises: NotFound, Failed if several are active."""
    if not graph.active:
        raise NotFound("no phase is active", hint="name one, or begin it: git nexus agenda phase start PHASE")
    if len(graph.active) > 1:
        names = ", ".join(one.id or one.path for one in graph.active)
        raise Failed(f"several phases are active: {names}", hint="name the one you mean")
    return graph.active[0]


def agenda_patches(
    state: State,
    graph: DocGraph,
    word: str,
    phase: Doc | None = None,
    steps: Sequence[str] = (),
    *,
    finish: bool = False,
    change: ChangeEdits = lambda phase, edits: edits,
) -> list[AgendaPatch]:
    """Return the document changes that a run proposes for `phase`, by default the active one. Raises: NexusError.

    `change` may add to the edits that follow from the rules.
    """
    snapshot = state.latest()
    run = read_run(snapshot, word)
    project = project_id_of(snapshot) or "unknown"
    phase = phase or only_active_phase(graph)
    edits = change(phase, edits_after_run(graph, phase, run.id, steps, finish=finish))
    return [_agenda_patch(edit, f"agenda-{at}", project, run.id) for at, edit in enumerate(edits, 1)]


def diff_of_edit(edit: DocEdit) -> str:
    """Return an edit as a unified diff for display."""
    old, new = (_lines_with_ends(raw) for raw in (edit.before or b"", edit.after))
    return "".join(difflib.unified_diff(old, new, f"a/{edit.path}", f"b/{edit.path}"))


def _agenda_patch(edit: DocEdit, name: str, project: str, run: str) -> AgendaPatch:
    request = AgendaRequest(
        project=project,
        run=run,
        path=edit.path,
        old_digest=_content_digest(edit.before),
        new_digest=_content_digest(edit.after),
    )
    details = {
        "path": edit.path,
        "oldDigest": request.old_digest,
        "newDigest": request.new_digest,
        "diff": diff_of_edit(edit),
    }
    return AgendaPatch(edit, ProposedAction(id=name, kind="agenda_patch", summary=edit.why, details=details), request)


def _content_digest(raw: bytes | None) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}" if raw is not None else ""


def _lines_with_ends(raw: bytes) -> list[str]:
    rows = raw.decode("utf-8", "replace").split("\n")
    return [f"{row}\n" for row in (rows[:-1] if rows[-1] == "" else rows)]


def _known_references(snapshot: Snapshot) -> KnownIds:
    tasks = tasks_in_snapshot(snapshot)
    return KnownIds(runs=frozenset(run_ids(snapshot)), has_task=lambda task_id: tasks.find(task_id) is not None)


def _resolve_commit(state: State, revision: str) -> str:
    asked = git_run(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", git_dir=state.repo.git_dir
    )
    if asked.returncode != 0:
        raise NotFound(f"there is no commit {one_line(revision, 80)}", hint="name a commit, a branch or a tag")
    return asked.stdout.decode("ascii").strip()
