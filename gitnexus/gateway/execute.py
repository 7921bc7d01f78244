"""Executes an action through the gate: judge, get approval, recompute the request, spend the token, run, log.

The gateway decides nothing; the gate does. It never executes the request it was given: the request for which the token
is spent is recomputed from the present files immediately before.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from gitnexus.base.errors import ApprovalNeeded, Conflict, DeniedByPolicy, NexusError
from gitnexus.base.text import is_utf8_name
from gitnexus.gateway.protocols import Ask, Digest, Judge, Mask, MaskingStream, Note, Spend
from gitnexus.policy.model import CommandRequest, Request

Act = Callable[[], dict[str, Any]]


class GatedAction(Protocol):
    """An action with an effect that is not executed yet."""

    @property
    def summary(self) -> str:
        """The requester's description, for the log only."""

    def prepared(self) -> AbstractContextManager[tuple[Request, Act]]:
        """Return the request for the present state, and the function that executes exactly that. Raises: NexusError."""


@dataclass(frozen=True, slots=True)
class ExecutionGate:
    """The callbacks around every effect. `ask` is None if nobody can be asked."""

    judge: Judge
    digest: Digest
    spend: Spend
    mask: Mask
    stream: Callable[[], MaskingStream]
    note: Note
    ask: Ask | None = None


def execute_through_gate(gate: ExecutionGate, action: GatedAction, token: str = "") -> dict[str, Any]:
    """Execute an action if allowed and return its masked result. `token` is an earlier approval.

    Raises: DeniedByPolicy, ApprovalNeeded, VerificationFailed, Conflict, and errors of the action itself.
    """
    started = False
    try:
        with action.prepared() as (request, _):
            digest = gate.digest(request)
            token = _obtain_token(gate, action, request, digest, token)
        # The files may have changed while the person looked: recompute everything.
        with action.prepared() as (again, act):
            _refuse_change(gate, request, again, digest)
            gate.spend(token, again, digest)
            # Log before executing: an entry without an outcome means that it may have happened, and somebody must ask.
            level = {"sandbox": again.sandbox} if isinstance(again, CommandRequest) else {}
            _note_event(gate, "action.started", {"digest": digest, "kind": again.kind, **level})
            started = True
            answer: dict[str, Any] = mask_value(gate.mask, act())
            _note_event(gate, "action.completed", {"digest": digest, "kind": again.kind, "answer": answer})
            return answer
    except NexusError as exc:
        told = {"summary": action.summary, "error": exc.name, "message": exc.message, "context": exc.context}
        waits = isinstance(exc, ApprovalNeeded)
        _note_event(gate, "action.failed" if started else "action.waiting" if waits else "action.rejected", told)
        raise
    except BaseException as exc:
        _note_event(
            gate, "action.interrupted", {"summary": action.summary, "error": type(exc).__name__, "started": started}
        )
        raise


def _obtain_token(gate: ExecutionGate, action: GatedAction, request: Request, digest: str, token: str) -> str:
    decision = gate.judge.decide(request)
    facts = {
        "digest": digest,
        "kind": request.kind,
        "verdict": decision.verdict,
        "rule": decision.rule,
        "why": decision.why,
        "risk": decision.risk,
        "tags": list(decision.tags),
    }
    _note_event(gate, "action.proposed", {**facts, "summary": action.summary, "request": request.plain()})
    match decision.verdict:
        case "allow":
            return token or gate.judge.issue(request, digest, decision)
        case "ask":
            found = token or (gate.ask(request, digest, decision, action.summary) if gate.ask else None)
            if found:
                return found
            raise ApprovalNeeded(
                f"a person has to approve this first: {decision.why}",
                hint="repeat the call with the token of the approval",
                context=facts,
            )
        case _:
            # Also for an unknown verdict: an approval cannot override a denial.
            raise DeniedByPolicy(
                f"{decision.rule} denies it: {decision.why}", hint=decision.instead or None, context=facts
            )


def _refuse_change(gate: ExecutionGate, before: Request, now: Request, digest: str) -> None:
    if gate.digest(now) != digest:
        old, new = before.plain(), now.plain()
        changed = ", ".join(key for key in new if old.get(key) != new[key])
        raise Conflict(
            f"what was approved is no longer what would be done, because this changed: {changed}",
            hint="look at it again; it needs a new approval",
            context={"digest": digest},
        )


def mask_value(mask: Mask, value: Any) -> Any:
    """Return a JSON value with the secrets in all its texts hidden, and bytes that are no text as \\xff."""
    if isinstance(value, str):
        return mask(value if is_utf8_name(value) else _spell_bytes(value))
    if isinstance(value, Mapping):
        return {mask_value(mask, str(key)): mask_value(mask, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_value(mask, item) for item in value]
    return value


def _spell_bytes(text: str) -> str:
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates that represent no byte
        raw = text.encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "backslashreplace")


def _note_event(gate: ExecutionGate, kind: str, fields: Mapping[str, Any]) -> None:
    gate.note(kind, mask_value(gate.mask, fields))
