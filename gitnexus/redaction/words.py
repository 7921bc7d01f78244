"""Which lines and which rules are worth a look: one pass over the text for the words of all rules at once."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from gitnexus.redaction.rule import linear
from gitnexus.redaction.rules import RULES, Rule
from gitnexus.redaction.unescape import ESCAPE

# Nearly all rules are about a run of letters that is longer than this; few lines of source have one.
_LONG = re.compile(rb"[a-z0-9_+/=.~:!$-]{14}")

if TYPE_CHECKING:
    from typing import Protocol

    from gitnexus.redaction.rule import Linear

    class _Automaton(Protocol):
        def iter(self, text: str, /) -> Iterator[tuple[int, tuple[int, ...]]]: ...


@cache
def by_word() -> dict[str, tuple[int, ...]]:
    """Return the numbers of the rules of every word."""
    rows: dict[str, list[int]] = {}
    for number, rule in enumerate(RULES):
        for word in rule.keywords:
            rows.setdefault(word, []).append(number)
    return {word: tuple(numbers) for word, numbers in rows.items()}


@cache
def anywhere() -> "Linear":
    """Return the pattern that finds the next word of any rule, or an escape that may hide one.

    One automaton of re2 over the whole text is as quick as a single rule; pyahocorasick takes fifteen times as long.
    """
    return linear("|".join(dict.fromkeys([*(rule.filter for rule in RULES), ESCAPE])))


def rules_for(line: bytes) -> list[Rule]:
    """Return the rules with a word in the line, in their order."""
    numbers = {number for _, each in _automaton().iter(line.lower().decode("latin-1")) for number in each}
    return [RULES[number] for number in sorted(numbers)]


def rules_in_short(text: bytes) -> list[tuple[Rule, tuple[bytes, ...]]]:
    """Return the rules with a word in a short text, and those words: without any library."""
    lowered = text.lower()
    long_lines = b"\n".join(line for line in lowered.split(b"\n") if _LONG.search(line))
    seen: dict[int, list[bytes]] = {}
    for word, numbers in by_word().items():
        raw = word.encode("ascii")
        if raw in long_lines:
            for number in numbers:
                seen.setdefault(number, []).append(raw)
        elif raw in _short_words() and raw in lowered:
            for number in numbers:
                if not RULES[number].is_long:
                    seen.setdefault(number, []).append(raw)
    return [(RULES[number], tuple(words)) for number, words in sorted(seen.items())]


@cache
def _short_words() -> frozenset[bytes]:
    return frozenset(word.encode("ascii") for rule in RULES if not rule.is_long for word in rule.keywords)


@cache
def _automaton() -> "_Automaton":
    import ahocorasick  # half a millisecond, and 300 words to build: only where a long text has a word at all

    automaton = ahocorasick.Automaton()
    for word, numbers in by_word().items():
        automaton.add_word(word, numbers)
    automaton.make_automaton()
    made: _Automaton = automaton
    return made
