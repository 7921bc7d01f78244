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
        seq, at, actor, what, why, result = self
        why = f" ({why})" if why else ""
        result = f" → {result}" if result else ""
        return "%5d  %9s  %s: %s%s%s" % (seq, at, actor, what, why, result)  # noqa: UP031


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
    parts, body = _PARTS.get(event.kind), event.body
    if parts is None:
        what = f"something this version does not know: {_safe(event.kind)}"
        return Line(event.seq, at, _named(event.actor), what, "", "")
    if "ok" in body and type(body["ok"]) is bool:
        body = {**body, "ended": _ended(body)}
    said = ["", "", ""]
    for place, words, names in parts:
        if len(names) == 1:
            name, show = names[0]
            text = words % (show(body[name]) if name in body else "")
        else:
            text = words % tuple([show(body[name]) if name in body else "" for name, show in names])
        if "  " in text:
            text = " ".join(text.split())
        said[place] = text.strip(" ").removesuffix(":")
    return tuple.__new__(Line, (event.seq, at, _named(event.actor), *said))  # Line(…), without a call in between


def _safe(value: Any) -> str:
    if type(value) is str and len(value) <= _WIDE and value.isascii() and value.isprintable():
        return value[7:19] if value[:7] == "sha256:" else value  # as below, and nearly all there is
    if isinstance(value, list):
        return one_line(" ".join(map(str, value)), _WIDE)
    if isinstance(value, str) and value.startswith("sha256:"):
        return one_line(value[7:19], _WIDE)
    return one_line(str(value), _WIDE)


_named = lru_cache(maxsize=64)(_safe)


def _quoted(value: Any) -> str:
    """Free text stands in quotation marks that it cannot close: it must not look like a result of ours."""
    safe = _safe(value)
    safe = safe if safe.isascii() else safe.replace("“", '"').replace("”", '"')
    return f"“{safe}”" if safe else ""


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
    if 0 <= seconds < 60:
        return "+%.1fs" % seconds  # noqa: UP031
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


def _shown_by(name: str) -> Callable[[Any], str]:
    if name == "replaces":
        return lambda value: f" instead of {_safe(value)}"
    return _quoted if name in _FREE else _safe


def _taken_apart(kind: _Words) -> Iterator[tuple[int, str, list[tuple[str, Callable[[Any], str]]]]]:
    """Yield each template that says something: which, for %, and what it takes. A long log is told by these."""
    for place, words in enumerate(kind):
        parts = list(Formatter().parse(words))
        wanted = "".join(text + ("" if name is None else f"%{spec or ''}s") for text, name, spec, _ in parts)
        if wanted:
            yield place, wanted, [(name, _shown_by(name)) for _, name, _, _ in parts if name is not None]


_PARTS = {kind: list(_taken_apart(words)) for kind, words in WORDS.items()}
