"""The table of event kinds: which fields the body of each kind has. Bodies are checked and redacted before writing."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gitnexus.base.errors import Invalid

# Long enough for a paragraph; what is longer is an artifact, named by its digest.
LONGEST_TEXT = 4000
# Names of people, agents, nodes, actions.
LONGEST_NAME = 200
_MANY = 1000
_HASH = re.compile(r"sha256:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind of event: its description, and the required (`needs`) and optional (`may`) fields with their types."""

    says: str
    needs: Mapping[str, str]
    may: Mapping[str, str]


def _event_kind(says: str, needs: str, may: str = "") -> EventKind:
    return EventKind(says, _parse_fields(needs), _parse_fields(may))


def _parse_fields(words: str) -> dict[str, str]:
    """Parse `node op:text size:count`; a field without a type is a name."""
    pairs = (word.partition(":") for word in words.split())
    return {name: kind or "name" for name, _, kind in pairs}


KINDS: Mapping[str, EventKind] = {
    "workflow.started": _event_kind(
        "A run begins; always the first event, and only that. `onto` is the branch checked out then, `backlog` the "
        "task of the backlog that it is for, `policy` the digest of the rules then in force.",
        "run definition:hash",
        "task:text workflow agent project base:hash branch onto backlog policy:hash",
    ),
    "run.resumed": _event_kind(
        "A run is continued; `lost` are steps whose files are gone, to be done again, `again` nodes that failed, to be "
        "tried again.",
        "by definition:hash",
        "lost:names again:names",
    ),
    "node.started": _event_kind("A step begins.", "node", "agent op attempt:count adapter sandbox"),
    "node.completed": _event_kind("A step is done and is never repeated.", "node", "summary:text outputs:names"),
    "node.blocked": _event_kind(
        "A step cannot continue without something; `step` is the one of its plan, `question` what its agent asked.",
        "node why:text",
        "needs:text step question",
    ),
    "node.failed": _event_kind("A step went wrong.", "node why:text"),
    "action.proposed": _event_kind(
        "An agent asks for something; `digest` is that of the canonical request. `replaces` was given up for it, by an "
        "agent or in an edit `by` a person. A yes to a patch is one to its `proofs` too: commands, as they are typed.",
        "action actionKind summary:text digest:hash",
        "why:text node artifact:hash claims:object replaces by proofs:names",
    ),
    "action.judged": _event_kind(
        "The gate's answer: allow, ask or deny.",
        "action verdict:verdict rule why:text",
        "risk:count tags:names",
    ),
    "action.rejected": _event_kind(
        "A proposal that is none: it breaks a rule of form, or does not fit; `error` is the name of the error, "
        "`node` the step whose agent made it.",
        "action why:text",
        "error node",
    ),
    "permission.granted": _event_kind(
        "A person, or a rule of theirs, said yes to exactly this digest; `unseen` if nobody had looked at it.",
        "action digest:hash by scope",
        "token why:text expires:count unseen:flag",
    ),
    "permission.denied": _event_kind("A person said no.", "action by", "why:text"),
    "tool.intended": _event_kind(
        "Written before the effect: if nothing follows, nobody knows whether it happened.",
        "action tool digest:hash",
        "nonce argv:names sandbox",
    ),
    "tool.executed": _event_kind(
        "The effect happened, and how it ended; `tests` names the runner, if it was one of tests.",
        "action tool ok:flag",
        "status:number result:text artifacts:hashes milliseconds:count tests",
    ),
    "secret.revealed": _event_kind("A person had what is hidden on a card shown to them.", "action by why:text"),
    "tool.read": _event_kind("Something was read; nothing changed.", "tool", "what:text"),
    "tool.called": _event_kind(
        "A model called a tool while it worked; `what` are the parameters, `bytes` is the size of what it got.",
        "tool node ok:flag number:count",
        "step what:text why:text error bytes:count milliseconds:count",
    ),
    "question.asked": _event_kind("An agent asks a person.", "question text:text", "node"),
    "question.answered": _event_kind("A person answered.", "question text:text by"),
    "artifact.written": _event_kind(
        "Something was kept under its own digest.",
        "name digest:hash size:count",
        "node action step",
    ),
    "policy.changed": _event_kind("Other rules apply from here on.", "digest:hash by", "before:hash why:text"),
    "run.checkpointed": _event_kind(
        "The log up to event `upto` is on the run's ref.",
        "commit:hash upto:count head:hash",
    ),
    "run.committed": _event_kind(
        "An approved result became a commit on the run's branch.",
        "action commit:hash tree:hash",
        "branch token",
    ),
    "output.checked": _event_kind(
        "What a step returned was checked against its schema.", "node schema ok:flag", "why:text attempt:count step"
    ),
    "step.finished": _event_kind(
        "A step of a plan is over: all that was proposed for it is done, or it went wrong. It is never repeated.",
        "node step ok:flag",
        "why:text",
    ),
    "step.retried": _event_kind(
        "What was proposed for a step failed a check; the specialist gets the reason and tries again. `by` is a review "
        "whose remarks are the reason; what was done stays done.",
        "node step why:text",
        "by",
    ),
    "batch.started": _event_kind(
        "Steps of a plan that are done together begin.", "batch node cu:count steps:names", "of:count"
    ),
    "batch.finished": _event_kind(
        "Steps that were done together are over; `cu` are the complexity units of the batch.",
        "batch ok:flag cu:count",
        "node steps:names why:text",
    ),
    "checks.ran": _event_kind(
        "A check of the project's own ran on what is about to land.", "argv:names ok:flag", "tree:hash by"
    ),
    "run.landed": _event_kind("The run's commits are on another branch.", "commit:hash into how", "by"),
    "decision.contradicted": _event_kind(
        "Another clone decided otherwise about an action before the two met; the stricter holds.",
        "action here elsewhere",
        "by text:text",
    ),
    "decision.settled": _event_kind("A person settled what two clones had decided otherwise.", "action how by"),
    "run.cancelled": _event_kind("A person ended the run.", "by", "why:text"),
    "run.finished": _event_kind("The run ended by itself.", "ok:flag", "why:text"),
    "agent.progress": _event_kind("What an agent said it does; shown, never trusted.", "text:text", "node"),
    "agent.spent": _event_kind(
        "What a call of an agent cost, to be added up; `cost` in millionths of a dollar, `step` the one of its plan.",
        "input:count output:count",
        "node cost:count session step",
    ),
    "lease.taken": _event_kind("A process drives the run from here on.", "holder", "host pid:count until"),
    "lease.lost": _event_kind("A process no longer drives the run.", "holder why:text"),
    "log.recovered": _event_kind(
        "The log ended in half a line; that was set aside in the file named here.",
        "file bytes:count digest:hash",
    ),
}


def check_event_body(kind: str, body: Mapping[str, Any]) -> None:
    """Raise an error for a body that does not match the table. Raises: Invalid."""
    known = KINDS.get(kind)
    if known is None:
        raise Invalid(f"there is no event of the kind {kind!r}", hint="docs/reference/events.md lists them")
    for name in known.needs:
        if name not in body:
            raise Invalid(f"{kind}: {name} is missing")
    for name, value in body.items():
        wanted = known.needs.get(name) or known.may.get(name)
        if wanted is None:
            raise Invalid(f"{kind}: {name!r} is not known")
        if not TYPES[wanted](value):
            raise Invalid(f"{kind}: {name} should be {MEANINGS[wanted]}")


def redact_event_body(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body with the secrets in its texts masked; a text that is then too long is cut."""
    known = KINDS.get(kind)
    if known is None:
        return dict(body)
    return {name: _redact_field(known.needs.get(name) or known.may.get(name), value) for name, value in body.items()}


def _redact_field(wanted: str | None, value: Any) -> Any:
    from gitnexus.redaction.stored import redact_text, redact_value  # its rules take 10 ms: only who writes pays

    if wanted == "name" and type(value) is str:
        return redact_text(value, values=False)
    if wanted == "text" and type(value) is str:
        hidden = redact_text(value)
        return hidden if hidden == value else shorten_text(hidden)
    return redact_value(value) if wanted in ("names", "object") else value


def check_event_readable(kind: str, body: Mapping[str, Any]) -> None:
    """Raise an error for a body that lacks a required field; unknown fields of a newer version are accepted.

    Raises: Invalid.
    """
    checks = _CHECKS.get(kind)
    if checks is None:
        raise Invalid(f"there is no event of the kind {kind[:80]!r}")
    needs, may = checks
    for name, fits in needs:
        if name not in body or not fits(body[name]):
            raise Invalid(f"{kind}: {name} is missing or is not {MEANINGS[KINDS[kind].needs[name]]}")
    if len(body) > len(needs):
        for name, fits in may:
            if name in body and not fits(body[name]):
                raise Invalid(f"{kind}: {name} is not {MEANINGS[KINDS[kind].may[name]]}")


def _is_name(value: Any) -> bool:
    return type(value) is str and 0 < len(value) <= LONGEST_NAME


def _is_hash(value: Any) -> bool:
    return type(value) is str and _HASH.fullmatch(value) is not None


def _is_list_of(one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: type(value) is list and len(value) <= _MANY and all(map(one, value))


TYPES: Mapping[str, Callable[[Any], bool]] = {
    "name": _is_name,
    "names": _is_list_of(lambda value: type(value) is str and len(value) <= LONGEST_TEXT),
    "text": lambda value: type(value) is str and len(value) <= LONGEST_TEXT,
    "hash": _is_hash,
    "hashes": _is_list_of(_is_hash),
    "count": lambda value: type(value) is int and value >= 0,
    "number": lambda value: type(value) is int,
    "flag": lambda value: type(value) is bool,
    "verdict": lambda value: type(value) is str and value in ("allow", "ask", "deny"),
    "object": lambda value: type(value) is dict,
}
MEANINGS: Mapping[str, str] = {
    "name": f"text of 1 to {LONGEST_NAME} characters",
    "names": f"a list of at most {_MANY} texts",
    "text": f"text of at most {LONGEST_TEXT} characters",
    "hash": "an object id of git, or sha256: and 64 hex digits",
    "hashes": f"a list of at most {_MANY} object ids or digests",
    "count": "a whole number from 0",
    "number": "a whole number",
    "flag": "true or false",
    "verdict": "one of allow, ask, deny",
    "object": "an object",
}


# Looked up once: the fold asks for every event of a run.
_CHECKS = {
    name: tuple(tuple((field, TYPES[wanted]) for field, wanted in fields.items()) for fields in (kind.needs, kind.may))
    for name, kind in KINDS.items()
}


def shorten_text(text: str, limit: int = LONGEST_TEXT) -> str:
    """Return `text` cut to the limit of a field, with lone surrogates replaced."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"
