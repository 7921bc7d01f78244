"""Finds secrets in a line and returns the matching rule with the start and end of each."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.redaction.above import Above
from gitnexus.redaction.rule import SecretRule
from gitnexus.redaction.rules import RULES
from gitnexus.redaction.span import SecretSpan
from gitnexus.redaction.unescape import has_escapes, unescape_line
from gitnexus.redaction.words import any_rule_pattern, rules_for_line, rules_for_short_text

if TYPE_CHECKING:
    from gitnexus.redaction.rule import Linear

# Up to here the standard library is quicker than importing re2, and no pattern can take long: it is over so soon.
SHORT_TEXT = 32 * 1024
_SHORT_LINE = 2 * 1024
KNOWN_VALUE = "known-value"
_MARK = re.compile(rb"\[([a-z0-9-]+)\]")
_ORDER = {KNOWN_VALUE: -1, **{rule.name: number for number, rule in enumerate(RULES)}}
_NAMES = frozenset(name.encode() for name in _ORDER)

Present = Sequence[tuple[SecretRule, tuple[bytes, ...]]]


class SecretFinding(NamedTuple):
    """The rule that matched, and the position; never the value."""

    rule: str
    line: int


def find_secrets(lines: Iterable[tuple[int, str]]) -> list[SecretFinding]:
    """Return the first finding of each numbered line."""
    rows = [(number, line.encode("utf-8", "surrogatepass")) for number, line in lines]
    search = make_searcher(b"\n".join(line for _, line in rows))
    if search is None:
        return []
    above = Above()
    found = ((number, search(line) + above.spans(line)) for number, line in rows)
    return [SecretFinding(rows[0].rule, number) for number, rows in found if rows]


def make_searcher(text: bytes) -> Callable[[bytes], list[SecretSpan]] | None:
    """Return a function that finds the secrets in the lines of a text, in rule order; None if the text has none."""
    if len(text) > SHORT_TEXT:
        return find_spans
    present = rules_for_short_text(text)
    if not present and not has_escapes(text):
        return None
    return lambda line: _short_spans(line, present)


def find_spans(line: bytes) -> list[SecretSpan]:
    """Return the spans to mask in a line of any length, in time linear in its length."""
    if any_rule_pattern().search(line) is None:
        return []
    return _search_unescaped_too(line, _linear_spans)


def merge_spans(found: Iterable[SecretSpan], line: bytes) -> list[SecretSpan]:
    """Return sorted spans with overlapping ones merged, named by the rule that begins first."""
    out: list[SecretSpan] = []
    for span in sorted(found):
        end = span.end
        while end < len(line) and 0x80 <= line[end] < 0xC0:  # never half a character
            end += 1
        if out and span.start < out[-1].end:
            before = out[-1]
            name = min(before.rule, span.rule, key=_ORDER.__getitem__)
            out[-1] = SecretSpan(before.start, max(before.end, end), name)
        else:
            out.append(SecretSpan(span.start, end, span.rule))
    return out


def _search_unescaped_too(line: bytes, search: Callable[[bytes], list[SecretSpan]]) -> list[SecretSpan]:
    found = search(line)
    if has_escapes(line):
        plain, offsets = unescape_line(line)
        found += [SecretSpan(offsets[span.start], offsets[span.end], span.rule) for span in search(plain)]
    return found


def _linear_spans(line: bytes) -> list[SecretSpan]:
    return [span for rule in rules_for_line(line) for span in _matches_of_rule(rule, line, rule.linear)]


def _short_spans(line: bytes, present: Present) -> list[SecretSpan]:
    if len(line) > _SHORT_LINE:
        return find_spans(line)
    found = _plain_spans(line, present)
    if has_escapes(line):
        plain, offsets = unescape_line(line)
        unhidden = _plain_spans(plain, rules_for_short_text(plain))
        found += [SecretSpan(offsets[span.start], offsets[span.end], span.rule) for span in unhidden]
    return found


def _plain_spans(line: bytes, present: Present) -> list[SecretSpan]:
    lowered = line.lower()
    return [
        span
        for rule, words in present
        if any(word in lowered for word in words)
        for span in _matches_of_rule(rule, line, rule.plain)
    ]


def _matches_of_rule(rule: SecretRule, line: bytes, pattern: "re.Pattern[bytes] | Linear") -> Iterator[SecretSpan]:
    at = 0
    while at <= len(line):
        match = pattern.search(line, at)
        if match is None:
            return
        start, end = match.span(1)
        # The sign that ends one secret may begin the next, so the search continues before it.
        at = max(end, at + 1)
        secret = line[start:end]
        if not _is_redaction_mark(secret) and (rule.check is None or rule.check(secret)):
            yield SecretSpan(start, end, rule.name)


def _is_redaction_mark(secret: bytes) -> bool:
    mark = _MARK.fullmatch(secret)
    return mark is not None and mark[1] in _NAMES
