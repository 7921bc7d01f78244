"""Selects the lines and rules worth testing: one pass over the text for the trigger words of all rules."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from gitnexus.redaction.above import NAME_ENDS_LINE
from gitnexus.redaction.rule import compile_linear
from gitnexus.redaction.rules import RULES, SecretRule
from gitnexus.redaction.unescape import ESCAPE

# Nearly all rules are about a run of letters that is longer than this; few lines of source have one.
_LONG = re.compile(rb"[a-z0-9_+/=.~:!$-]{14}")

if TYPE_CHECKING:
    from typing import Protocol

    from gitnexus.redaction.rule import Linear

    class _Automaton(Protocol):
        def iter(self, text: str, /) -> Iterator[tuple[int, tuple[int, ...]]]: ...


@cache
def rules_by_word() -> dict[str, tuple[int, ...]]:
    """Return the indexes of the rules of every word."""
    rows: dict[str, list[int]] = {}
    for number, rule in enumerate(RULES):
        for word in rule.keywords:
            rows.setdefault(word, []).append(number)
    return {word: tuple(numbers) for word, numbers in rows.items()}


@cache
def any_rule_pattern() -> "Linear":
    """Return the pattern that finds the next trigger word of any rule, or an escape that may hide one.

    One re2 automaton over the whole text is as fast as a single rule; pyahocorasick takes fifteen times as long.
    """
    return compile_linear("|".join(dict.fromkeys([*(rule.filter for rule in RULES), NAME_ENDS_LINE + "\\n", ESCAPE])))


def rules_for_line(line: bytes) -> list[SecretRule]:
    """Return the rules with a trigger word in the line, in order."""
    numbers = {number for _, each in _word_automaton().iter(line.lower().decode("latin-1")) for number in each}
    return [RULES[number] for number in sorted(numbers)]


def rules_for_short_text(text: bytes) -> list[tuple[SecretRule, tuple[bytes, ...]]]:
    """Return the rules with a trigger word in a short text, and those words; uses no library."""
    lowered = text.lower()
    long_lines = b"\n".join(line for line in lowered.split(b"\n") if _LONG.search(line))
    seen: dict[int, list[bytes]] = {}
    # Most texts here are a name or a line of a record: they hold no run that long, and few words are left to look for.
    for raw, numbers in _encoded_words() if long_lines else ():
        if raw in long_lines:
            for number in numbers:
                seen.setdefault(number, []).append(raw)
    for raw, numbers in _short_words():
        if raw in lowered and raw not in long_lines:
            for number in numbers:
                seen.setdefault(number, []).append(raw)
    return [(RULES[number], tuple(words)) for number, words in sorted(seen.items())]


@cache
def _encoded_words() -> tuple[tuple[bytes, tuple[int, ...]], ...]:
    return tuple((word.encode("ascii"), numbers) for word, numbers in rules_by_word().items())


@cache
def _short_words() -> tuple[tuple[bytes, tuple[int, ...]], ...]:
    """Return the trigger words of rules without a long run, with only those rules."""
    rows = (
        (raw, tuple(number for number in numbers if not RULES[number].is_long)) for raw, numbers in _encoded_words()
    )
    return tuple((raw, numbers) for raw, numbers in rows if numbers)


@cache
def _word_automaton() -> "_Automaton":
    import ahocorasick  # half a millisecond, and 300 words to build: only where a long text has a word at all

    automaton = ahocorasick.Automaton()
    for word, numbers in rules_by_word().items():
        automaton.add_word(word, numbers)
    automaton.make_automaton()
    made: _Automaton = automaton
    return made
