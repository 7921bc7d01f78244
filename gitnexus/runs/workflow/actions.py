"""What a workflow wants done, put to the gate: an executor's actions, a change of the plan, a handoff, a tree."""

import hashlib

from gitnexus.app import proposing
from gitnexus.app.keeping import plan_path
from gitnexus.app.runact import GATE
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import proposed_tree
from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid, NotFound
from gitnexus.events.kinds import short
from gitnexus.policy.model import DocumentRequest, HandoffRequest
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_values
from gitnexus.state.format import id_of
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.stage import Deed


def put(desk: RunDesk, node: WorkflowNode, deed: Deed, paper: str) -> tuple[str, str]:
    """Propose a deed; return the action's name, empty if there is nothing to do, and why it is no proposal.

    `paper` is the node whose plan it is, for a change of the plan.
    """
    try:
        return _put(desk, node, deed, paper), ""
    except (Invalid, Conflict, DeniedByPolicy, NotFound) as exc:
        why = short(mask(exc.message, known_values()), 1000)
        # Never an action, so it has no name of its own; but somebody tried, and that is worth knowing.
        desk.log.append("action.rejected", GATE, {"action": deed.kind, "why": why, "error": exc.name})
        return "", f"{deed.kind} refused: {why}"


def _put(desk: RunDesk, node: WorkflowNode, deed: Deed, paper: str) -> str:
    if deed.kind == "tree":
        return proposed_tree(desk, desk.run.title, node.id) or ""
    if deed.change is not None:
        return _plan_change(desk, node, deed, paper)
    if deed.kind == "handoff":
        return _handoff(desk, node, deed)
    action = deed.action
    if action is None:
        raise Invalid(f"nobody knows how to do {deed.kind}")
    if deed.kind == "patch":
        raw = action.diff.encode("utf-8", "surrogateescape")
        return proposing.patch(desk, raw if raw.endswith(b"\n") else raw + b"\n", action.summary, node=node.id)
    return proposing.command(desk, list(action.argv), action.summary, {}, node=node.id)


def _plan_change(desk: RunDesk, node: WorkflowNode, deed: Deed, paper: str) -> str:
    assert deed.change is not None  # noqa: S101 - which is what brought us here
    desk.artifacts.write("plan.json", deed.change.plan, exact=True)
    request = DocumentRequest(
        project=id_of(desk.state.snapshot) or "",
        run=desk.run.id,
        role=node.role,
        path=plan_path(desk.run.id, paper),
        old_digest=deed.change.old,
        new_digest=deed.change.new,
    )
    return proposing.other(desk, request, deed.summary or "change the plan", node.id)


def _handoff(desk: RunDesk, node: WorkflowNode, deed: Deed) -> str:
    raw = mask(deed.message, known_values()).encode("utf-8", "replace")
    kept = desk.artifacts.write("handoff.txt", raw, exact=True)
    request = HandoffRequest(
        project=id_of(desk.state.snapshot) or "",
        run=desk.run.id,
        role=node.role,
        workflow=desk.run.definition,
        sender=node.role or node.specialist,
        receiver=deed.receiver,
        message_digest=f"sha256:{hashlib.sha256(raw).hexdigest()}",
    )
    action = proposing.other(desk, request, deed.summary, node.id)
    written = {"name": kept.name, "digest": kept.digest, "size": kept.size, "action": action}
    desk.log.append("artifact.written", "nexus", written)
    return action
