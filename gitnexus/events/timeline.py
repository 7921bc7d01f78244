"""Formats each event of a run as one line of text. Pure; control characters in agent text are made visible."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from string import Formatter
from typing import Any, NamedTuple

from gitnexus.base.clock import parse_timestamp
from gitnexus.base.text import one_line
from gitnexus.events.model import Event

_WIDE = 160
_FREE = frozenset({"argv", "name", "needs", "result", "summary", "task", "text", "why"})


class _LineWords(NamedTuple):
    """The texts for a kind of event: our templates, filled with text of others."""

    what: str
    why: str = ""
    result: str = ""


class _LineTemplate(NamedTuple):
    """One %-template for a whole line, and the fields that fill it."""

    words: str
    fields: tuple[tuple[str, Callable[[Any], str]], ...]


def format_timeline(events: Iterable[Event]) -> Iterator[str]:
    """Yield a line for each event, with the time since the first."""
    start: datetime | None = None
    for event in events:
        at = parse_timestamp(event.time)
        start = start or at
        # Of 100,000 lines each pays for every call: % is the quickest way to write one.
        yield "%5d  %9s  %s" % (event.seq, _format_elapsed(start, at), describe_event(event))  # noqa: UP031


def describe_event(event: Event) -> str:
    """Return one event as one line of safe text."""
    kind, body = event.kind, event.body
    if "ok" in body and type(body["ok"]) is bool:
        body = {**body, "ended": _describe_end(body)}
    words, fields = _line_template(kind, tuple(body))
    shown = [show(body[name]) for name, show in fields]
    if "" in shown:
        filled = [field for field, text in zip(fields, shown, strict=True) if text]
        words, _ = _line_template(kind, tuple([name for name, _ in filled]))
        shown = [text for text in shown if text]
    return f"{_safe_actor(event.actor)}: {words % tuple(shown)}"


@lru_cache(maxsize=512)
def _line_template(kind: str, names: tuple[str, ...]) -> _LineTemplate:
    """Return the template for an event of a kind with these fields. A long log has few different ones."""
    if kind not in WORDS:
        return _LineTemplate(f"something this version does not know: {_safe_text(kind)}".replace("%", "%%"), ())
    (what, wanted), (why, reasons), (result, ends) = (_template_without(words, names) for words in WORDS[kind])
    why = f" ({why})" if why else ""
    result = f" → {result}" if result else ""
    return _LineTemplate(
        what + why + result, tuple([(name, _formatter_for_field(name)) for name in (*wanted, *reasons, *ends)])
    )


def _template_without(words: str, names: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return a %-template without the text around absent fields, and the fields it takes."""
    text, wanted = "", []
    for before, name, spec, _ in Formatter().parse(words):
        text += before
        if name in names:
            text += f"%{spec or ''}s"
            wanted.append(name)
    return " ".join(text.split()).removesuffix(":"), wanted


def _safe_text(value: Any) -> str:
    if type(value) is str and value.isascii() and value.isprintable() and len(value) <= _WIDE:
        return value  # as below, and nearly all there is
    return one_line(" ".join(map(str, value)) if isinstance(value, list) else str(value), _WIDE)


_safe_actor = lru_cache(maxsize=64)(_safe_text)


def _quote_text(value: Any) -> str:
    """Quote free text so that it cannot close its quotation marks and imitate a result of ours."""
    if type(value) is str and value.isascii() and value.isprintable() and 0 < len(value) <= _WIDE:
        return f"“{value}”"  # as below, and nearly all there is
    safe = _safe_text(value)
    safe = safe if safe.isascii() else safe.replace("“", '"').replace("”", '"')
    return f"“{safe}”" if safe else ""


def _format_replaced(value: Any) -> str:
    return f" instead of {_safe_text(value)}"


def _short_digest(value: Any) -> str:
    return _safe_text(str(value).removeprefix("sha256:")[:12])


def _format_lost(value: Any) -> str:
    return f"again, because the files are missing: {_safe_text(value)}"


def _formatter_for_field(name: str) -> Callable[[Any], str]:
    return _SPECIAL.get(name) or (_quote_text if name in _FREE else _safe_text)


def _format_unseen(value: Any) -> str:
    return " unseen" if value is True else ""


_SPECIAL = {"digest": _short_digest, "lost": _format_lost, "replaces": _format_replaced, "unseen": _format_unseen}


def _describe_end(body: Mapping[str, Any]) -> str:
    if body["ok"] is True:
        return "ok"
    status = body.get("status")
    return "failed" if status is None else f"failed with {_safe_text(status)}"


def _format_elapsed(start: datetime | None, at: datetime | None) -> str:
    """Return the time between two events; a clock that was set back gives a negative value and changes no order."""
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
WORDS: Mapping[str, _LineWords] = {
    "workflow.started": _LineWords("starts the run {run}: {task}", "", "{branch}"),
    "run.resumed": _LineWords("continues the run", "{lost}{again}", "by {by}"),
    "node.started": _LineWords("begins {node} {op}", "", "{sandbox}"),
    "node.completed": _LineWords("completed {node}", "", "{summary}"),
    "node.blocked": _LineWords("is blocked in {node}", "{why}", "{needs}"),
    "node.failed": _LineWords("failed in {node}", "{why}"),
    "action.proposed": _LineWords("{by} proposes {actionKind} {action}{replaces}: {summary}", "{why}", "{digest}"),
    "action.judged": _LineWords("judges {action}", "{rule}: {why}", "{verdict}"),
    "action.rejected": _LineWords("rejects {action}", "{why}"),
    "permission.granted": _LineWords("{by} approved {action}{unseen} ({scope})", "{why}", "{digest}"),
    "permission.denied": _LineWords("{by} denied {action}", "{why}"),
    "tool.intended": _LineWords("is about to run {tool} for {action}: {argv}", "", "{sandbox} {digest}"),
    "tool.executed": _LineWords("ran {tool} for {action}", "", "{ended} {result}"),
    "secret.revealed": _LineWords("{by} revealed the masked secrets of {action}", "{why}"),
    "tool.read": _LineWords("reads with {tool}", "", "{what}"),
    "tool.called": _LineWords("calls {tool} for {node}", "{why}", "{what}"),
    "question.asked": _LineWords("asks: {text}"),
    "question.answered": _LineWords("{by} answered: {text}"),
    "artifact.written": _LineWords("kept {name}, {size} bytes", "", "{digest}"),
    "policy.changed": _LineWords("{by} changed the policy", "{why}", "{digest}"),
    "run.checkpointed": _LineWords("wrote events up to {upto} to the run's ref", "", "{commit:.12}"),
    "run.committed": _LineWords("committed {action}", "", "{commit:.12}"),
    "output.checked": _LineWords("checked the output of {node} against {schema}", "{why}", "{ended}"),
    "step.finished": _LineWords("finished the step {step} of {node}", "{why}", "{ended}"),
    "step.retried": _LineWords("failed at the step {step} of {node}, which is tried again", "{why}", "by {by}"),
    "batch.started": _LineWords("began the batch {batch} of {cu} units: {steps}"),
    "batch.finished": _LineWords("finished the batch {batch} of {cu} units", "{why}", "{ended}"),
    "checks.ran": _LineWords("ran the check {argv}", "", "{ended}"),
    "run.landed": _LineWords("landed the run on {into} ({how})", "", "{commit:.12}"),
    "decision.contradicted": _LineWords("another clone decided {elsewhere} on {action}, this one {here}", "{text}"),
    "decision.settled": _LineWords("{by} settled {action}: {how}"),
    "run.cancelled": _LineWords("{by} cancelled the run", "{why}"),
    "run.finished": _LineWords("finished the run", "{why}", "{ended}"),
    "agent.progress": _LineWords("says: {text}"),
    "agent.spent": _LineWords("spent {input} tokens in, {output} out"),
    "lease.taken": _LineWords("{holder} drives the run"),
    "lease.lost": _LineWords("{holder} no longer drives the run", "{why}"),
    "log.recovered": _LineWords(
        "set aside an incomplete line at the end of the log, {bytes} bytes", "a writer was stopped", "{file}"
    ),
}
