"""The timeline: one line of words for each event. Pure; what agents wrote is made visible before it is shown."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from string import Formatter
from typing import Any, NamedTuple

from gitnexus.base.clock import read
from gitnexus.base.text import one_line
from gitnexus.events.model import Event

_WIDE = 160
_FREE = frozenset({"argv", "name", "needs", "result", "summary", "task", "text", "why"})


class Line(NamedTuple):
    """An event in words; every field is one safe line."""

    seq: int
    at: str
    actor: str
    what: str
    why: str
    result: str

    def text(self) -> str:
        """Return it as it is printed."""
        why = f" ({self.why})" if self.why else ""
        result = f" → {self.result}" if self.result else ""
        return f"{self.seq:>5}  {self.at:>9}  {self.actor}: {self.what}{why}{result}"


class _Words(NamedTuple):
    """What to say of a kind: templates of ours, filled with text of others."""

    what: str
    why: str = ""
    result: str = ""


def timeline(events: Iterable[Event]) -> Iterator[Line]:
    """Yield a line for each event, with the time since the first."""
    start: datetime | None = None
    for event in events:
        at = read(event.time)
        start = start or at
        yield told(event, _since(start, at))


def told(event: Event, at: str = "") -> Line:
    """Return one event in words."""
    words = WORDS.get(event.kind)
    if words is None:
        return Line(
            event.seq, at, _safe(event.actor), f"something this version does not know: {_safe(event.kind)}", "", ""
        )
    body = event.body
    fields = _Shown()
    for name, is_free in _named(event.kind):
        if name in body:
            fields[name] = _quoted(body[name]) if is_free else _safe(body[name])
    if "ok" in body and type(body["ok"]) is bool:
        fields["ended"] = _ended(body)
    if "replaces" in body:
        fields["replaces"] = f" instead of {fields['replaces']}"
    what, why, result = words
    return Line(
        event.seq,
        at,
        _safe(event.actor),
        _filled(what, fields),
        _filled(why, fields) if why else "",
        _filled(result, fields) if result else "",
    )


@cache
def _named(kind: str) -> tuple[tuple[str, bool], ...]:
    """Return the fields that the words of a kind name, and whether anything may stand there."""
    names = {name: None for words in WORDS[kind] for _, name, _, _ in Formatter().parse(words) if name}
    return tuple((name, name in _FREE) for name in names)


class _Shown(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return ""


def _filled(template: str, fields: Mapping[str, str]) -> str:
    text = template.format_map(fields)
    if "  " in text or text[:1] == " " or text[-1:] in (" ", ":"):
        return " ".join(text.split()).removesuffix(":")
    return text


def _safe(value: Any) -> str:
    if type(value) is str and len(value) <= _WIDE and value.isascii() and value.isprintable():
        return value[7:19] if value.startswith("sha256:") else value  # nearly all are so
    if isinstance(value, list):
        return one_line(" ".join(map(str, value)), _WIDE)
    if isinstance(value, str) and value.startswith("sha256:"):
        return one_line(value[7:19], _WIDE)
    return one_line(str(value), _WIDE)


def _quoted(value: Any) -> str:
    """Free text stands in quotation marks that it cannot close: it must not look like a result of ours."""
    safe = _safe(value)
    safe = safe if safe.isascii() else safe.replace("“", '"').replace("”", '"')
    return f"“{safe}”" if safe else ""


def _ended(body: Mapping[str, Any]) -> str:
    if body.get("ok") is True:
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
    "run.resumed": _Words("goes on with the run", "", "by {by}"),
    "node.started": _Words("begins {node} {op}", "", "{sandbox}"),
    "node.completed": _Words("completed {node}", "", "{summary}"),
    "node.blocked": _Words("is blocked in {node}", "{why}", "{needs}"),
    "node.failed": _Words("failed in {node}", "{why}"),
    "action.proposed": _Words("{by} proposes {actionKind} {action}{replaces}: {summary}", "{why}", "{digest}"),
    "action.judged": _Words("judges {action}", "{rule}: {why}", "{verdict}"),
    "action.rejected": _Words("rejects {action}", "{why}"),
    "permission.granted": _Words("{by} approved {action} ({scope})", "{why}", "{digest}"),
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
