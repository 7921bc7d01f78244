"""Proposes a workflow node's actions to the gate: patches, commands, plan changes, handoffs and trees."""

import hashlib
from typing import get_args

from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid, NotFound
from gitnexus.events.kinds import shorten_text
from gitnexus.policy.model import DocumentRequest, HandoffRequest
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.actions import ask
from gitnexus.runs.actions.approve import approve_action
from gitnexus.runs.actions.joint_proofs import approver_of_proof, proofs_to_ask_about
from gitnexus.runs.actions.propose import propose_worktree_changes
from gitnexus.runs.actions.tool_context import GATE
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.steps import refuse_unknown_receiver
from gitnexus.runs.workflow.papers import plan_path
from gitnexus.state.format import project_id_of
from gitnexus.workflow.definition import Specialist, WorkflowNode
from gitnexus.workflow.engine_protocol import NodeAction


def propose_workflow_action(run: OpenRun, node: WorkflowNode, action: NodeAction, paper: str) -> tuple[str, str]:
    """Propose a node's action; return its name ("" if there is nothing to do), and why it was not proposed.

    `paper` is the node whose plan is changed, for a plan change.
    """
    try:
        return _propose_by_kind(run, node, action, paper), ""
    except (Invalid, Conflict, DeniedByPolicy, NotFound) as exc:
        why = shorten_text(mask(exc.message, known_secret_values()), 1000)
        # Not an action, so it has no name; but the attempt is logged.
        run.log.append("action.rejected", GATE, {"action": action.kind, "why": why, "error": exc.name})
        around = mask(str(exc.context.get("around", "")), known_secret_values())
        near = f"\nThe file {exc.context.get('path', '')} has there:\n{around}" if around else ""
        # Who may take over is what the sender of a handoff has to know; other hints are for people.
        known = f" ({exc.hint})" if action.kind == "handoff" and exc.hint else ""
        return "", f"{action.kind} refused: {why}{known}{near}"


def _propose_by_kind(run: OpenRun, node: WorkflowNode, node_action: NodeAction, paper: str) -> str:
    if node_action.kind == "tree":
        asked = proofs_to_ask_about(run, node_action.proofs, node.role)
        return propose_worktree_changes(run, node_action.summary or run.record.title, node.id, asked) or ""
    if node_action.change is not None:
        return _propose_plan_change(run, node, node_action, paper)
    if node_action.kind == "handoff":
        return _propose_handoff(run, node, node_action)
    action = node_action.action
    if action is None:
        raise Invalid(f"it is unknown how to do {node_action.kind}")
    if node_action.kind == "patch":
        raw = action.diff.encode("utf-8", "surrogateescape")
        text = raw if raw.endswith(b"\n") else raw + b"\n"
        asked = proofs_to_ask_about(run, node_action.proofs, node.role)
        return ask.propose_patch(run, text, action.summary, node=node.id, proofs=asked)
    made = ask.propose_command(run, list(action.argv), action.summary, {}, node=node.id)
    by = approver_of_proof(run, node.id, action.argv)
    if by and run.view().actions[made].status == "waiting":
        approve_action(run, made, by=by)
    return made


def _propose_plan_change(run: OpenRun, node: WorkflowNode, action: NodeAction, paper: str) -> str:
    assert action.change is not None  # noqa: S101 - which is what brought us here
    run.artifacts.write("plan.json", action.change.plan, exact=True)
    request = DocumentRequest(
        project=project_id_of(run.state.snapshot) or "",
        run=run.record.id,
        role=node.role,
        path=plan_path(run.record.id, paper),
        old_digest=action.change.old,
        new_digest=action.change.new,
    )
    return ask.propose_request(run, request, action.summary or "change the plan", node.id)


def _propose_handoff(run: OpenRun, node: WorkflowNode, node_action: NodeAction) -> str:
    refuse_unknown_receiver(run.state, node.adapter, node_action.receiver, get_args(Specialist))
    raw = mask(node_action.message, known_secret_values()).encode("utf-8", "replace")
    kept = run.artifacts.write("handoff.txt", raw, exact=True)
    request = HandoffRequest(
        project=project_id_of(run.state.snapshot) or "",
        run=run.record.id,
        role=node.role,
        workflow=run.record.definition,
        sender=node.role or node.specialist,
        receiver=node_action.receiver,
        message_digest=f"sha256:{hashlib.sha256(raw).hexdigest()}",
    )
    action = ask.propose_request(run, request, node_action.summary, node.id)
    written = {"name": kept.name, "digest": kept.digest, "size": kept.size, "action": action}
    run.log.append("artifact.written", "nexus", written)
    return action
