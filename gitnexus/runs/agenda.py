"""The doc graph of an open project, and what a run leaves behind in it as actions that the gate can judge."""

import difflib
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.backlog.store import tasks_in
from gitnexus.base.errors import Failed, NotFound
from gitnexus.base.text import one_line
from gitnexus.docgraph import Checkout, Committed, Graph, Known, Shelf, load
from gitnexus.docgraph.model import Doc
from gitnexus.docgraph.phases import Edit, after_run
from gitnexus.git.child import run as git_run
from gitnexus.policy.model import AgendaRequest, ProposedAction
from gitnexus.runs.store import ids_in, read
from gitnexus.state import Snapshot, State
from gitnexus.state.format import id_of


class Patch(NamedTuple):
    """One document that a run would change: the text, the action for a person, the request for the gate."""

    edit: Edit
    action: ProposedAction
    request: AgendaRequest


def graph_of(state: State, revision: str = "") -> Graph:
    """Return the documents of the checkout, or of a commit. Raises: Failed in a bare repository, NotFound."""
    snapshot = state.latest()
    tree = Committed(state.objects, _commit(state, revision)) if revision else Checkout(state.repo)
    return load(Shelf(tree, snapshot), _known(snapshot))


def written(graph: Graph, edits: Sequence[Edit]) -> list[str]:
    """Write edits into the checkout, each file at once, and return their paths. Raises: Conflict, Failed."""
    tree = graph.shelf.tree
    if not isinstance(tree, Checkout):
        raise Failed("a commit is not written to", hint="leave --at out")
    for edit in edits:
        tree.write(edit.path, edit.before, edit.after)
    return [edit.path for edit in edits]


def only_active(graph: Graph) -> Doc:
    """Return the phase that is being worked on. Raises: NotFound, Failed."""
    if not graph.active:
        raise NotFound("no phase is active", hint="name one, or begin it: git nexus agenda phase start PHASE")
    if len(graph.active) > 1:
        names = ", ".join(one.id or one.path for one in graph.active)
        raise Failed(f"several phases are active: {names}", hint="name the one you mean")
    return graph.active[0]


def patches(
    state: State, graph: Graph, word: str, phase: Doc | None = None, steps: Sequence[str] = (), *, finish: bool = False
) -> list[Patch]:
    """Return what a run leaves behind in its phase, which is the active one if none is named. Raises: NexusError."""
    snapshot = state.latest()
    run = read(snapshot, word)
    project = id_of(snapshot) or "unknown"
    edits = after_run(graph, phase or only_active(graph), run.id, steps, finish=finish)
    return [_patch(edit, f"agenda-{at}", project, run.id) for at, edit in enumerate(edits, 1)]


def difference(edit: Edit) -> str:
    """Return an edit as a unified diff, for people."""
    old, new = (_lines(raw) for raw in (edit.before or b"", edit.after))
    return "".join(difflib.unified_diff(old, new, f"a/{edit.path}", f"b/{edit.path}"))


def _patch(edit: Edit, name: str, project: str, run: str) -> Patch:
    request = AgendaRequest(
        project=project, run=run, path=edit.path, old_digest=_digest(edit.before), new_digest=_digest(edit.after)
    )
    details = {"path": edit.path, "oldDigest": request.old_digest, "newDigest": request.new_digest,
               "diff": difference(edit)}  # fmt: skip
    return Patch(edit, ProposedAction(id=name, kind="agenda_patch", summary=edit.why, details=details), request)


def _digest(raw: bytes | None) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}" if raw is not None else ""


def _lines(raw: bytes) -> list[str]:
    rows = raw.decode("utf-8", "replace").split("\n")
    return [f"{row}\n" for row in (rows[:-1] if rows[-1] == "" else rows)]


def _known(snapshot: Snapshot) -> Known:
    tasks = tasks_in(snapshot)
    return Known(runs=frozenset(ids_in(snapshot)), has_task=lambda task_id: tasks.find(task_id) is not None)


def _commit(state: State, revision: str) -> str:
    asked = git_run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}",
                    git_dir=state.repo.git_dir)  # fmt: skip
    if asked.returncode != 0:
        raise NotFound(f"there is no commit {one_line(revision, 80)}", hint="name a commit, a branch or a tag")
    return asked.stdout.decode("ascii").strip()
