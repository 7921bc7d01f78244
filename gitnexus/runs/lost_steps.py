"""Steps whose agent had ended, and whose files are gone before they were proposed: they are begun once more."""

from collections.abc import Mapping
from typing import Any

from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runend import read_end
from gitnexus.app.runsteps import steps_of
from gitnexus.events.kinds import short


def once_more(desk: RunDesk) -> None:
    """Let such steps be worked on again: their files lay in a worktree that is on another machine, or gone."""
    if desk.workflow() is None:
        _of_an_agent(desk)
    else:
        _of_a_workflow(desk)


def _of_an_agent(desk: RunDesk) -> None:
    view = desk.view()
    proposed = {one.node for one in view.actions.values() if one.kind == "patch"}
    for node in steps_of(desk, desk.definition()):
        known = view.nodes.get(node.id)
        if known is None or known.status != "started" or node.id in proposed:
            continue
        if read_end(desk, node, known.attempts) is not None:
            body = {"node": node.id, "agent": node.role or node.adapter, "adapter": node.adapter,
                    "attempt": known.attempts + 1}  # fmt: skip
            desk.log.append("node.started", "nexus", body)


def _of_a_workflow(desk: RunDesk) -> None:
    from gitnexus.workflow.progress import WHOLE, Progress  # only a workflow pays

    events = list(desk.log.read())
    progress = Progress()
    progress.fold(events)
    began: dict[str, Mapping[str, Any]] = {one.body["node"]: one.body for one in events if one.kind == "node.started"}
    proposed = {one.node for one in progress.actions.values() if one.kind == "patch"}
    lost = [
        id_
        for id_, state in progress.nodes.items()
        if state.status == "started" and state.open_step is not None and state.open_step[0] == WHOLE
        and id_ not in proposed and _edits(began.get(id_, {}))
    ]  # fmt: skip
    if lost:
        # The engine begins steps itself, and is walked once more by its log: it is told what is gone.
        body = {"by": short(desk.state.author.name, 200), "definition": desk.run.definition, "lost": lost}
        desk.log.append("run.resumed", "nexus", body)


def _edits(began: Mapping[str, Any]) -> bool:
    """True for a step that a program in the worktree worked on; all others keep what they propose in the log."""
    from gitnexus.adapters.table import ADAPTERS

    return began.get("op") == "command" or (began.get("op") == "exec" and began.get("adapter") in ADAPTERS)
