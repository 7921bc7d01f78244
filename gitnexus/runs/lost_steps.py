"""Re-queues steps that finished but whose worktree was lost before their changes were proposed."""

from collections.abc import Mapping
from typing import Any

from gitnexus.events.kinds import shorten_text
from gitnexus.runs.agent.attempts import read_attempt_end
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.steps import steps_of


def restart_lost_steps(run: OpenRun) -> None:
    """Log that steps start again whose unproposed files are on another machine or deleted."""
    if run.workflow() is None:
        _restart_agent_steps(run)
    else:
        _restart_workflow_steps(run)


def _restart_agent_steps(run: OpenRun) -> None:
    view = run.view()
    proposed = {one.node for one in view.actions.values() if one.kind == "patch"}
    for node in steps_of(run, run.definition()):
        known = view.nodes.get(node.id)
        if known is None or known.status != "started" or node.id in proposed:
            continue
        if read_attempt_end(run, node, known.attempts) is not None:
            body = {
                "node": node.id,
                "agent": node.role or node.adapter,
                "adapter": node.adapter,
                "attempt": known.attempts + 1,
            }
            run.log.append("node.started", "nexus", body)


def _restart_workflow_steps(run: OpenRun) -> None:
    from gitnexus.workflow.progress import WHOLE, WorkflowProgress  # only needed for workflows

    events = list(run.events())
    progress = WorkflowProgress()
    progress.fold(events)
    began: dict[str, Mapping[str, Any]] = {one.body["node"]: one.body for one in events if one.kind == "node.started"}
    proposed = {one.node for one in progress.actions.values() if one.kind == "patch"}
    lost = [
        id_
        for id_, state in progress.nodes.items()
        if state.status == "started"
        and state.open_step is not None
        and state.open_step[0] == WHOLE
        and id_ not in proposed
        and _edits_worktree(began.get(id_, {}))
    ]
    if lost:
        # The workflow engine replays the log and starts steps itself: log which ones are lost.
        body = {"by": shorten_text(run.state.author.name, 200), "definition": run.record.definition, "lost": lost}
        run.log.append("run.resumed", "nexus", body)


def _edits_worktree(began: Mapping[str, Any]) -> bool:
    """True for a step whose program edited the worktree; other steps keep their proposals in the log."""
    from gitnexus.adapters.table import ADAPTERS

    return began.get("op") == "command" or (began.get("op") == "exec" and began.get("adapter") in ADAPTERS)
