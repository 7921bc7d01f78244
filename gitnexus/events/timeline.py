"""The timeline: one line of words for each event. Pure; what agents wrote is made visible before it is shown."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from string import Formatter
from typing import Any, NamedTuple

from gitnexus.base.clock import read
from gitnexus.base.text import one_line
from gitnexus.events.model import Event

_WIDE = 160
_FREE = frozenset({"argv", "name", "needs", "result", "summary", "task", "text", "why"})


class _Words(NamedTuple):
    """What to say of a kind: templates of ours, filled with text of others."""

    what: str
    why: str = ""
    result: str = ""


class _Form(NamedTuple):
    """One template for all of a line, for %, and the fields that fill it."""

    words: str
    fields: tuple[tuple[str, Callable[[Any], str]], ...]


def timeline(events: Iterable[Event]) -> Iterator[str]:
    """Yield a line for each event, with the time since the first."""
    start: datetime | None = None
    for event in events:
        at = read(event.time)
        start = start or at
        # Of 100,000 lines each pays for every call: % is the quickest way to write one.
        yield "%5d  %9s  %s" % (event.seq, _since(start, at), told(event))  # noqa: UP031


def told(event: Event) -> str:
    """Return one event in words, on one safe line."""
    kind, body = event.kind, event.body
    if "ok" in body and type(body["ok"]) is bool:
        body = {**body, "ended": _ended(body)}
    words, fields = _form(kind, tuple(body))
    shown = [show(body[name]) for name, show in fields]
    if "" in shown:
        filled = [field for field, text in zip(fields, shown, strict=True) if text]
        words, _ = _form(kind, tuple([name for name, _ in filled]))
        shown = [text for text in shown if text]
    return f"{_named(event.actor)}: {words % tuple(shown)}"


@lru_cache(maxsize=512)
def _form(kind: str, names: tuple[str, ...]) -> _Form:
    """Return how an event of a kind is told that has these fields. A long log has few forms."""
    if kind not in WORDS:
        return _Form(f"something this version does not know: {_safe(kind)}".replace("%", "%%"), ())
    (what, wanted), (why, reasons), (result, ends) = (_without(words, names) for words in WORDS[kind])
    why = f" ({why})" if why else ""
    result = f" → {result}" if result else ""
    return _Form(what + why + result, tuple([(name, _shown_by(name)) for name in (*wanted, *reasons, *ends)]))


def _without(words: str, names: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return a template for %, without what would stand around a field that is not there, and the fields it takes."""
    text, wanted = "", []
    for before, name, spec, _ in Formatter().parse(words):
        text += before
        if name in names:
            text += f"%{spec or ''}s"
            wanted.append(name)
    return " ".join(text.split()).removesuffix(":"), wanted


def _safe(value: Any) -> str:
    if type(value) is str and value.isascii() and value.isprintable() and len(value) <= _WIDE:
        return value  # as below, and nearly all there is
    return one_line(" ".join(map(str, value)) if isinstance(value, list) else str(value), _WIDE)


_named = lru_cache(maxsize=64)(_safe)


def _quoted(value: Any) -> str:
    """Free text stands in quotation marks that it cannot close: it must not look like a result of ours."""
    if type(value) is str and value.isascii() and value.isprintable() and 0 < len(value) <= _WIDE:
        return f"“{value}”"  # as below, and nearly all there is
    safe = _safe(value)
    safe = safe if safe.isascii() else safe.replace("“", '"').replace("”", '"')
    return f"“{safe}”" if safe else ""


def _instead(value: Any) -> str:
    return f" instead of {_safe(value)}"


def _brief(value: Any) -> str:
    return _safe(str(value).removeprefix("sha256:")[:12])


def _gone(value: Any) -> str:
    return f"once more, since the files are gone: {_safe(value)}"


def _shown_by(name: str) -> Callable[[Any], str]:
    return _SPECIAL.get(name) or (_quoted if name in _FREE else _safe)


def _not_looked_at(value: Any) -> str:
    return " unseen" if value is True else ""


_SPECIAL = {"digest": _brief, "lost": _gone, "replaces": _instead, "unseen": _not_looked_at}


def _ended(body: Mapping[str, Any]) -> str:
    if body["ok"] is True:
        return "ok"
    status = body.get("status")
    return "failed" if status is None else f"failed with {_safe(status)}"


def _since(start: datetime | None, at: datetime | None) -> str:
    """Return the time between two events; a clock that was set back gives a negative one, and changes no order."""
    if start is None or at is None:
        return "?"
    seconds = (at - start).total_seconds()
    sign, seconds = ("-" if seconds < 0 else "+"), abs(seconds)
    if seconds < 60:
        return f"{sign}{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}h{minutes:02d}m{rest:02d}s" if hours else f"{sign}{minutes}m{rest:02d}s"


# A row for each row of kinds.KINDS; a test compares the two.
WORDS: Mapping[str, _Words] = {
    "workflow.started": _Words("starts the run {run}: {task}", "", "{branch}"),
    "run.resumed": _Words("goes on with the run", "{lost}", "by {by}"),
    "node.started": _Words("begins {node} {op}", "", "{sandbox}"),
    "node.completed": _Words("completed {node}", "", "{summary}"),
    "node.blocked": _Words("is blocked in {node}", "{why}", "{needs}"),
    "node.failed": _Words("failed in {node}", "{why}"),
    "action.proposed": _Words("{by} proposes {actionKind} {action}{replaces}: {summary}", "{why}", "{digest}"),
    "action.judged": _Words("judges {action}", "{rule}: {why}", "{verdict}"),
    "action.rejected": _Words("rejects {action}", "{why}"),
    "permission.granted": _Words("{by} approved {action}{unseen} ({scope})", "{why}", "{digest}"),
    "permission.denied": _Words("{by} denied {action}", "{why}"),
    "tool.intended": _Words("is about to run {tool} for {action}: {argv}", "", "{sandbox} {digest}"),
    "tool.executed": _Words("ran {tool} for {action}", "", "{ended} {result}"),
    "secret.revealed": _Words("{by} looked at what was hidden in {action}", "{why}"),
    "tool.read": _Words("reads with {tool}", "", "{what}"),
    "question.asked": _Words("asks: {text}"),
    "question.answered": _Words("{by} answered: {text}"),
    "artifact.written": _Words("kept {name}, {size} bytes", "", "{digest}"),
    "policy.changed": _Words("{by} changed the policy", "{why}", "{digest}"),
    "run.checkpointed": _Words("wrote events up to {upto} to the run's ref", "", "{commit:.12}"),
    "run.committed": _Words("committed {action}", "", "{commit:.12}"),
    "output.checked": _Words("held what {node} gave back against {schema}", "{why}", "{ended}"),
    "step.finished": _Words("finished the step {step} of {node}", "{why}", "{ended}"),
    "batch.started": _Words("began the batch {batch} of {cu} units: {steps}"),
    "batch.finished": _Words("finished the batch {batch} of {cu} units", "{why}", "{ended}"),
    "checks.ran": _Words("ran the check {argv}", "", "{ended}"),
    "run.landed": _Words("landed the run on {into} ({how})", "", "{commit:.12}"),
    "run.cancelled": _Words("{by} cancelled the run", "{why}"),
    "run.finished": _Words("finished the run", "{why}", "{ended}"),
    "agent.progress": _Words("says: {text}"),
    "agent.spent": _Words("spent {input} tokens in, {output} out"),
    "lease.taken": _Words("{holder} drives the run"),
    "lease.lost": _Words("{holder} no longer drives the run", "{why}"),
    "log.recovered": _Words("found half a line at the end of the log, {bytes} bytes", "a writer was stopped", "{file}"),
}
