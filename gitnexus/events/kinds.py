"""The table of kinds: which fields the body of an event has, checked before it is written."""

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
class Kind:
    """One kind: what it says, and the fields its body must (`needs`) and may (`may`) have, each with its type."""

    says: str
    needs: Mapping[str, str]
    may: Mapping[str, str]


def _kind(says: str, needs: str, may: str = "") -> Kind:
    return Kind(says, _fields(needs), _fields(may))


def _fields(words: str) -> dict[str, str]:
    """Read `node op:text size:count`; a field without a type is a name."""
    pairs = (word.partition(":") for word in words.split())
    return {name: kind or "name" for name, _, kind in pairs}


KINDS: Mapping[str, Kind] = {
    "workflow.started": _kind(
        "A run begins; always the first event, and only that.",
        "run definition:hash",
        "task:text workflow agent project base:hash branch",
    ),
    "run.resumed": _kind(
        "Somebody goes on with a run that had stopped; `lost` are steps whose files are gone, to be done again.",
        "by definition:hash",
        "lost:names",
    ),
    "node.started": _kind("A step begins.", "node", "agent op attempt:count adapter sandbox"),
    "node.completed": _kind("A step is done and is never repeated.", "node", "summary:text outputs:names"),
    "node.blocked": _kind(
        "A step cannot go on without something; `step` is the one of its plan.", "node why:text", "needs:text step"
    ),
    "node.failed": _kind("A step went wrong.", "node why:text"),
    "action.proposed": _kind(
        "An agent asks for something; `digest` is that of the canonical request. `replaces` was given up for it, by an "
        "agent or in an edit `by` a person.",
        "action actionKind summary:text digest:hash",
        "why:text node artifact:hash claims:object replaces by",
    ),
    "action.judged": _kind(
        "The gate's answer: allow, ask or deny.",
        "action verdict:verdict rule why:text",
        "risk:count tags:names",
    ),
    "action.rejected": _kind(
        "A proposal that is none: it breaks a rule of form, or does not fit; `error` is the name of the error.",
        "action why:text",
        "error",
    ),
    "permission.granted": _kind(
        "A person, or a rule of theirs, said yes to exactly this digest; `unseen` if nobody had looked at it.",
        "action digest:hash by scope",
        "token why:text expires:count unseen:flag",
    ),
    "permission.denied": _kind("A person said no.", "action by", "why:text"),
    "tool.intended": _kind(
        "Written before the effect: if nothing follows, nobody knows whether it happened.",
        "action tool digest:hash",
        "nonce argv:names sandbox",
    ),
    "tool.executed": _kind(
        "The effect happened, and how it ended; `tests` names the runner, if it was one of tests.",
        "action tool ok:flag",
        "status:number result:text artifacts:hashes milliseconds:count tests",
    ),
    "secret.revealed": _kind("A person had what is hidden on a card shown to them.", "action by why:text"),
    "tool.read": _kind("Something was read; nothing changed.", "tool", "what:text"),
    "question.asked": _kind("An agent asks a person.", "question text:text", "node"),
    "question.answered": _kind("A person answered.", "question text:text by"),
    "artifact.written": _kind(
        "Something was kept under its own digest.",
        "name digest:hash size:count",
        "node action step",
    ),
    "policy.changed": _kind("Other rules hold from here on.", "digest:hash by", "before:hash why:text"),
    "run.checkpointed": _kind(
        "The log up to event `upto` is on the run's ref.",
        "commit:hash upto:count head:hash",
    ),
    "run.committed": _kind(
        "An approved result became a commit on the run's branch.",
        "action commit:hash tree:hash",
        "branch token",
    ),
    "output.checked": _kind(
        "What a step gave back was held against its schema.", "node schema ok:flag", "why:text attempt:count step"
    ),
    "step.finished": _kind(
        "A step of a plan is over: all that was proposed for it is done, or it went wrong. It is never repeated.",
        "node step ok:flag",
        "why:text",
    ),
    "batch.started": _kind(
        "Steps of a plan that are done together begin.", "batch node cu:count steps:names", "of:count"
    ),
    "batch.finished": _kind(
        "Steps that were done together are over; `cu` are the complexity units of the batch.",
        "batch ok:flag cu:count",
        "node steps:names why:text",
    ),
    "checks.ran": _kind(
        "A check of the project's own ran on what is about to land.", "argv:names ok:flag", "tree:hash by"
    ),
    "run.landed": _kind("The run's commits are on another branch.", "commit:hash into how", "by"),
    "run.cancelled": _kind("Somebody ended the run.", "by", "why:text"),
    "run.finished": _kind("The run ended by itself.", "ok:flag", "why:text"),
    "agent.progress": _kind("What an agent said it does; shown, never believed.", "text:text", "node"),
    "agent.spent": _kind(
        "What a call of an agent cost, to be added up; `cost` in millionths of a dollar.",
        "input:count output:count",
        "node cost:count session",
    ),
    "lease.taken": _kind("A process drives the run from here on.", "holder", "host pid:count until"),
    "lease.lost": _kind("A process no longer drives the run.", "holder why:text"),
    "log.recovered": _kind(
        "The log ended in half a line; that was set aside in the file named here.",
        "file bytes:count digest:hash",
    ),
}


def checked(kind: str, body: Mapping[str, Any]) -> None:
    """Refuse a body that is not what the table says. Raises: Invalid."""
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


def redacted_body(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body with the secrets in its texts hidden; what is too long for its field then is cut."""
    known = KINDS.get(kind)
    if known is None:
        return dict(body)
    return {name: _redacted(known.needs.get(name) or known.may.get(name), value) for name, value in body.items()}


def _redacted(wanted: str | None, value: Any) -> Any:
    from gitnexus.redaction.stored import redact_text, redact_value  # its rules take 10 ms: only who writes pays

    if wanted == "name" and type(value) is str:
        return redact_text(value, values=False)
    if wanted == "text" and type(value) is str:
        hidden = redact_text(value)
        return hidden if hidden == value else short(hidden)
    return redact_value(value) if wanted in ("names", "object") else value


def readable(kind: str, body: Mapping[str, Any]) -> None:
    """Refuse a body that lacks what its kind must have; a field that only a newer writer knows is let be.

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


def short(text: str, limit: int = LONGEST_TEXT) -> str:
    """Return `text` as far as it fits a field, half characters of a foreign encoding replaced."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"
