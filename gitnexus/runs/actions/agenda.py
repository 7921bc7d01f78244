"""Proposes a finished workflow's changes to the project's phase documents as actions of its run.

Each action is the change of one document. An approval covers exactly one patch, which is proposed and granted together,
so that its commit carries a token like every other.
"""

from gitnexus.base.errors import NexusError
from gitnexus.docgraph.model import Doc
from gitnexus.runs.actions import ask
from gitnexus.runs.actions.agenda_by_model import edits_with_model
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.agenda import AgendaPatch, agenda_patches, load_doc_graph
from gitnexus.runs.open_run import OpenRun

KIND = "agenda_patch"


def propose_agenda_changes(run: OpenRun, titles: frozenset[str]) -> list[str]:
    """Propose the run's document changes unless that is done; return the action names. Raises: NexusError.

    `titles` are the steps that the run carried out: rows of the active phase with the same text are ticked.
    """
    known = [name for name, one in run.view().actions.items() if one.kind == KIND]
    if known or branch_tip(run) == run.record.base:
        return known
    names = []
    for one in _agenda_changes(run, titles):
        run.artifacts.write(one.edit.path.rpartition("/")[2], one.edit.after, exact=True)
        if one.edit.before is not None:
            run.artifacts.write(one.edit.path.rpartition("/")[2], one.edit.before, exact=True)
        names.append(ask.propose_request(run, one.request, f"{one.edit.path}: {one.edit.why}", ""))
    return names


def _agenda_changes(run: OpenRun, titles: frozenset[str]) -> list[AgendaPatch]:
    """Return the changes; none if there is not exactly one active phase, or its document cannot be edited."""
    graph = load_doc_graph(run.state, branch_tip(run))
    if len(graph.active) != 1:
        return []
    phase = graph.active[0]
    try:
        return agenda_patches(
            run.state,
            graph,
            run.record.id,
            phase,
            _steps_to_tick(phase, titles),
            change=lambda doc, edits: edits_with_model(run, graph, doc, edits, titles),
        )
    except NexusError:
        return []  # a document that is broken or being merged is left unchanged


def _steps_to_tick(phase: Doc, titles: frozenset[str]) -> list[str]:
    wanted = {title.casefold() for title in titles}
    rows = [one for one in phase.steps if not one.done and one.text.casefold() in wanted]
    # Match by text, because line numbers move when the run is linked; rows with equal text are skipped.
    said = [one.text.casefold() for one in phase.steps]
    return [one.id or one.text for one in rows if one.id or said.count(one.text.casefold()) == 1]
