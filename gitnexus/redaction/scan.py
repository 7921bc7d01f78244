"""Find secrets in lines, and mask them in text that is going to be shown."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gitnexus.redaction.rules import RULES, Rule

# A line longer than this is data, not source; the patterns would only waste time on it.
_LONGEST_LINE = 10_000


@dataclass(frozen=True, slots=True)
class Finding:
    """Which rule matched, and where. Never what."""

    rule: str
    line: int


def find_secrets(lines: Iterable[tuple[int, str]]) -> list[Finding]:
    """Return the first finding of each numbered line."""
    found = []
    for number, line in lines:
        rule = _first(line[:_LONGEST_LINE])
        if rule is not None:
            found.append(Finding(rule.name, number))
    return found


def mask(text: str) -> str:
    """Return `text` with every secret replaced by the name of its rule."""
    lowered = text.lower()
    for rule in RULES:
        if any(word in lowered for word in rule.keywords):
            text = rule.pattern.sub(_masker(rule), text)
    return text


def _first(line: str) -> Rule | None:
    lowered = line.lower()
    for rule in RULES:
        if any(word in lowered for word in rule.keywords) and rule.pattern.search(line):
            return rule
    return None


def _masker(rule: Rule) -> Callable[[re.Match[str]], str]:
    def masked(match: re.Match[str]) -> str:
        hidden = f"[{rule.name}]"
        if "secret" not in match.re.groupindex:
            return hidden
        start, end = match.span("secret")
        return match.string[match.start() : start] + hidden + match.string[end : match.end()]

    return masked
