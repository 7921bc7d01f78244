"""Find secrets in a line: which rule, from where to where."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.redaction.rule import Rule
from gitnexus.redaction.rules import RULES
from gitnexus.redaction.unescape import is_escaped, unescaped
from gitnexus.redaction.words import anywhere, rules_for, rules_in_short

if TYPE_CHECKING:
    from gitnexus.redaction.rule import Linear

# Up to here the standard library is quicker than importing re2, and no pattern can take long: it is over so soon.
SHORT_TEXT = 32 * 1024
_SHORT_LINE = 2 * 1024
KNOWN_VALUE = "known-value"
_MARK = re.compile(rb"\[([a-z0-9-]+)\]")
_ORDER = {KNOWN_VALUE: -1, **{rule.name: number for number, rule in enumerate(RULES)}}
_NAMES = frozenset(name.encode() for name in _ORDER)

Present = Sequence[tuple[Rule, tuple[bytes, ...]]]


class Finding(NamedTuple):
    """Which rule matched, and where. Never what."""

    rule: str
    line: int


class Span(NamedTuple):
    """A piece of a line that is to be hidden."""

    start: int
    end: int
    rule: str


def find_secrets(lines: Iterable[tuple[int, str]]) -> list[Finding]:
    """Return the first finding of each numbered line."""
    rows = [(number, line.encode("utf-8", "surrogatepass")) for number, line in lines]
    search = searcher(b"\n".join(line for _, line in rows))
    if search is None:
        return []
    found = ((number, search(line)) for number, line in rows)
    return [Finding(rows[0].rule, number) for number, rows in found if rows]


def searcher(text: bytes) -> Callable[[bytes], list[Span]] | None:
    """Return what finds the secrets in the lines of a text, in the order of the rules; None if it holds none."""
    if len(text) > SHORT_TEXT:
        return spans
    present = rules_in_short(text)
    if not present and not is_escaped(text):
        return None
    return lambda line: _short_spans(line, present)


def spans(line: bytes) -> list[Span]:
    """Return what is to be hidden in a line of any length, in time linear in its length."""
    if anywhere().search(line) is None:
        return []
    return _with_unescaped(line, _linear_spans)


def merged(found: Iterable[Span], line: bytes) -> list[Span]:
    """Return spans in the order of the line, those that overlap as one, named by the rule that stands first."""
    out: list[Span] = []
    for span in sorted(found):
        end = span.end
        while end < len(line) and 0x80 <= line[end] < 0xC0:  # never half a character
            end += 1
        if out and span.start < out[-1].end:
            before = out[-1]
            name = min(before.rule, span.rule, key=_ORDER.__getitem__)
            out[-1] = Span(before.start, max(before.end, end), name)
        else:
            out.append(Span(span.start, end, span.rule))
    return out


def _with_unescaped(line: bytes, search: Callable[[bytes], list[Span]]) -> list[Span]:
    found = search(line)
    if is_escaped(line):
        plain, offsets = unescaped(line)
        found += [Span(offsets[span.start], offsets[span.end], span.rule) for span in search(plain)]
    return found


def _linear_spans(line: bytes) -> list[Span]:
    return [span for rule in rules_for(line) for span in _matches(rule, line, rule.linear)]


def _short_spans(line: bytes, present: Present) -> list[Span]:
    if len(line) > _SHORT_LINE:
        return spans(line)
    found = _plain_spans(line, present)
    if is_escaped(line):
        plain, offsets = unescaped(line)
        unhidden = _plain_spans(plain, rules_in_short(plain))
        found += [Span(offsets[span.start], offsets[span.end], span.rule) for span in unhidden]
    return found


def _plain_spans(line: bytes, present: Present) -> list[Span]:
    lowered = line.lower()
    return [
        span
        for rule, words in present
        if any(word in lowered for word in words)
        for span in _matches(rule, line, rule.plain)
    ]


def _matches(rule: Rule, line: bytes, pattern: "re.Pattern[bytes] | Linear") -> Iterator[Span]:
    at = 0
    while at <= len(line):
        match = pattern.search(line, at)
        if match is None:
            return
        start, end = match.span(1)
        # The sign that ends one secret may begin the next, so the search goes on before it.
        at = max(end, at + 1)
        secret = line[start:end]
        if not _is_mark(secret) and (rule.check is None or rule.check(secret)):
            yield Span(start, end, rule.name)


def _is_mark(secret: bytes) -> bool:
    mark = _MARK.fullmatch(secret)
    return mark is not None and mark[1] in _NAMES
