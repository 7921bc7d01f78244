"""Builds the approval card of an action, judged by the present policy."""

import json
from collections.abc import Sequence
from dataclasses import replace

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import NotFound
from gitnexus.gateway.assemble import RevealCard
from gitnexus.gateway.card import Card, build_card, with_text
from gitnexus.policy.model import CommandRequest, DocumentRequest, HandoffRequest, Request
from gitnexus.redaction.result import Reveal
from gitnexus.runs.actions.joint_proofs import highest_risk
from gitnexus.runs.actions.propose import judge_proposed_action, left_out
from gitnexus.runs.open_run import OpenRun


def action_card(run: OpenRun, action: str) -> tuple[Card, RevealCard]:
    """Return the card of an action and the function that reveals its secrets. Raises: NexusError."""
    found = judge_proposed_action(run, action)
    gatekeeper = found.gatekeeper
    summary, request = run.view().actions[action].summary, found.request
    proofs = run.view().actions[action].proofs
    said, inputs, is_patch = _card_text(run, request), _command_input(run, request), request.kind == "patch"

    def card(reveal: Reveal | None = None) -> Card:
        made = build_card(
            run.repo, request, found.decision, gatekeeper.mode, summary, gatekeeper.around, reveal, inputs
        )

        more = [*_origin_row(run)]
        if is_patch:
            more += [*_left_out(run, action), *_sandbox_row(run, action), *_proof_rows(proofs)]
        risk = max(made.risk, highest_risk(run, proofs, request.role))
        made = replace(made, facts=(*made.facts, *more), risk=risk)
        return with_text(made, said, reveal) if said else made

    def shown(why: str) -> Card:
        log_reveal(run, action, why)
        return card(Reveal(why))

    return card(), shown


def _command_input(run: OpenRun, request: Request) -> dict[str, bytes]:
    """Return a command's standard input by its digest, if it is stored on this machine."""
    if not isinstance(request, CommandRequest) or not request.stdin_digest:
        return {}
    try:
        return {request.stdin_digest: run.artifacts.read(request.stdin_digest)}
    except NotFound:
        return {}


def _card_text(run: OpenRun, request: Request) -> bytes:
    """Return the text body of a card: a message, or the diff of a document."""
    if isinstance(request, HandoffRequest):
        return run.artifacts.read(request.message_digest)
    if isinstance(request, DocumentRequest) and request.kind in ("plan_patch", "agenda_patch"):
        from gitnexus.docgraph.phases import DocEdit
        from gitnexus.runs.agenda import diff_of_edit

        before = run.artifacts.read(request.old_digest) if request.old_digest else None
        after = run.artifacts.read(request.new_digest)
        if request.kind == "plan_patch":
            before, after = _indent_json(before) if before is not None else None, _indent_json(after)
        return diff_of_edit(DocEdit(request.path, before, after, "")).encode()
    return b""


def _indent_json(raw: bytes) -> bytes:
    """Return JSON with indentation: canonical JSON is a single line, which makes its diff unreadable."""
    return json.dumps(parse_json(raw), indent=2, ensure_ascii=False).encode() + b"\n"


def _origin_row(run: OpenRun) -> list[tuple[str, str]]:
    return [("run", "foreign: somebody else started it")] if run.foreign else []


def _left_out(run: OpenRun, action: str) -> list[tuple[str, str]]:
    words = left_out(run).get(action)
    return [("left out", f"{words}; it is in the worktree, and not in this patch")] if words else []


def _sandbox_row(run: OpenRun, action: str) -> list[tuple[str, str]]:
    """Return the card row with the sandbox level of the agent that made a patch, from the log."""
    view = run.view()
    node = view.nodes.get(view.actions[action].node)
    return [("sandbox", f"{node.sandbox}, in which it was made")] if node is not None and node.sandbox else []


def _proof_rows(proofs: Sequence[str]) -> list[tuple[str, str]]:
    """Return the card rows with the commands that a yes to a patch also approves."""
    return [("and runs", f"{words}, in the sandbox, to prove it") for words in proofs]


def log_reveal(run: OpenRun, action: str, why: str) -> None:
    """Log that the user had the secrets of an action revealed. Raises: NexusError."""
    run.make_recorder(run.make_gatekeeper(action), "user").log_secret_reveal(run.state.author.name, why)
