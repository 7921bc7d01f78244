"""The one door: a request is judged, approved, made again from the world as it is now, and only then executed.

It decides nothing: the gate does. It never executes what it was told, only what it found again: the request that the
token is spent for is computed anew, from the files as they are, immediately before.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from gitnexus.base.errors import ApprovalNeeded, Conflict, DeniedByPolicy, NexusError
from gitnexus.base.text import is_text
from gitnexus.gateway.needs import Ask, Digest, Judge, Mask, Note, Spend, Stream
from gitnexus.policy.model import CommandRequest, Request

Act = Callable[[], dict[str, Any]]


class Deed(Protocol):
    """Something with an effect, not yet done."""

    @property
    def summary(self) -> str:
        """What it is, in the words of whoever wants it. For the record only."""

    def prepared(self) -> AbstractContextManager[tuple[Request, Act]]:
        """Return the request as the world is now, and what executes exactly that. Raises: NexusError."""


@dataclass(frozen=True, slots=True)
class Door:
    """What stands around every effect. `ask` is None where nobody can be asked now."""

    judge: Judge
    digest: Digest
    spend: Spend
    mask: Mask
    stream: Callable[[], Stream]
    note: Note
    ask: Ask | None = None


def passed(door: Door, deed: Deed, token: str = "") -> dict[str, Any]:
    """Do it, if it may be done, and return its masked answer. `token` is an approval that was given before.

    Raises: DeniedByPolicy, ApprovalNeeded, VerificationFailed, Conflict, and what the deed itself raises.
    """
    started = False
    try:
        with deed.prepared() as (request, _):
            digest = door.digest(request)
            token = _approved(door, deed, request, digest, token)
        # What the person looked at may have changed while they looked: everything is made again.
        with deed.prepared() as (again, act):
            _refuse_change(door, request, again, digest)
            door.spend(token, again, digest)
            # Before it happens: whoever finds this without an outcome knows that it may have happened, and asks.
            level = {"sandbox": again.sandbox} if isinstance(again, CommandRequest) else {}
            _note(door, "action.started", {"digest": digest, "kind": again.kind, **level})
            started = True
            answer: dict[str, Any] = masked(door.mask, act())
            _note(door, "action.completed", {"digest": digest, "kind": again.kind, "answer": answer})
            return answer
    except NexusError as exc:
        told = {"summary": deed.summary, "error": exc.name, "message": exc.message, "context": exc.context}
        waits = isinstance(exc, ApprovalNeeded)
        _note(door, "action.failed" if started else "action.waiting" if waits else "action.rejected", told)
        raise
    except BaseException as exc:
        _note(door, "action.interrupted", {"summary": deed.summary, "error": type(exc).__name__, "started": started})
        raise


def _approved(door: Door, deed: Deed, request: Request, digest: str, token: str) -> str:
    decision = door.judge.decide(request)
    facts = {"digest": digest, "kind": request.kind, "verdict": decision.verdict, "rule": decision.rule,
             "why": decision.why, "risk": decision.risk, "tags": list(decision.tags)}  # fmt: skip
    _note(door, "action.proposed", {**facts, "summary": deed.summary, "request": request.plain()})
    match decision.verdict:
        case "allow":
            return token or door.judge.issue(request, digest, decision)
        case "ask":
            found = token or (door.ask(request, digest, decision, deed.summary) if door.ask else None)
            if found:
                return found
            raise ApprovalNeeded(
                f"a person has to approve this first: {decision.why}",
                hint="repeat the call with the token of the approval",
                context=facts,
            )
        case _:
            # Also whatever is no verdict at all: an approval does not reach over a denial.
            raise DeniedByPolicy(
                f"{decision.rule} denies it: {decision.why}", hint=decision.instead or None, context=facts
            )


def _refuse_change(door: Door, before: Request, now: Request, digest: str) -> None:
    if door.digest(now) != digest:
        old, new = before.plain(), now.plain()
        changed = ", ".join(key for key in new if old.get(key) != new[key])
        raise Conflict(
            f"what was approved is no longer what would be done, for this changed: {changed}",
            hint="look at it again; it needs a new approval",
            context={"digest": digest},
        )


def masked(mask: Mask, value: Any) -> Any:
    """Return a JSON value with the secrets in all its texts hidden, and bytes that are no text as \\xff."""
    if isinstance(value, str):
        return mask(value if is_text(value) else _spelled(value))
    if isinstance(value, Mapping):
        return {masked(mask, str(key)): masked(mask, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(mask, item) for item in value]
    return value


def _spelled(text: str) -> str:
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # halves of pairs that stand for no byte
        raw = text.encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "backslashreplace")


def _note(door: Door, kind: str, fields: Mapping[str, Any]) -> None:
    door.note(kind, masked(door.mask, fields))
