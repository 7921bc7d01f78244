"""No two commands are drawn alike: the words on a card can be read back."""

import re

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.argvtext import bracket_if_needed, escape_word, format_pairs, format_words, parse_words
from gitnexus.base.text import frame_text

# What brackets, escapes and spelled characters are made of, and what is spelled.
_LETTERS = "[]\\ =axu0285d1be\x85\udc85\xad\udcad\u200b\u21e5\n\t\x1b❤\ufe0f\u3164\ud800'"
WORD = st.text(st.sampled_from(_LETTERS), max_size=8)
ARGV = st.lists(WORD, max_size=4).map(tuple)
ENV = st.dictionaries(WORD, WORD, max_size=3)
_ESCAPE = re.compile(r"\\(?:([\\\[\]=])|x(..)|u(....)|U(........))")


def in_frame(line: str) -> str:
    return "\n".join(frame_text(line)).replace("\n┆ ", "").removeprefix("│ ")


def read_word(drawn: str) -> str:
    """Return the word that was drawn."""
    inner = drawn[1:-1] if drawn.startswith("[") else drawn
    return _ESCAPE.sub(lambda found: found[1] or _character(found), inner)


def _character(found: re.Match[str]) -> str:
    code = int(found[2] or found[3] or found[4], 16)
    return chr(code + 0xDC00 if found[2] and code >= 0x80 else code)


def read_words(line: str) -> tuple[str, ...]:
    """Return the words of a line."""
    return tuple(read_word(drawn) for drawn in re.findall(r"\[(?:[^\\\]]|\\.)*\]|[^ \[\]]+", line))


@given(ARGV)
def test_the_words_of_a_command_are_read_back_from_the_card(argv: tuple[str, ...]) -> None:
    assert read_words(in_frame(format_words(argv))) == argv
    assert parse_words(format_words(argv)) == argv


@given(ENV, ENV)
def test_no_two_environments_are_drawn_alike(one: dict[str, str], other: dict[str, str]) -> None:
    assert (format_pairs(one) == format_pairs(other)) == (one == other)


@given(ARGV, ARGV)
def test_no_two_commands_are_drawn_alike(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (format_words(one) == format_words(other)) == (one == other)


@given(WORD, WORD)
def test_no_two_words_that_stand_by_themselves_are_drawn_alike(one: str, other: str) -> None:
    drawn = [bracket_if_needed(escape_word(word)) for word in (one, other)]

    assert (drawn[0].rstrip() == drawn[1].rstrip()) == (one == other)


def test_brackets_inside_a_word_are_escaped_and_plain_words_are_as_ever() -> None:
    assert format_words(["sh", "-c", "echo ok] [; touch PWNED"]) == r"sh -c [echo ok\] \[; touch PWNED]"
    assert format_words(["make", "check", "a b", ""]) == "make check [a b] []"
    assert format_pairs({"CI": "1", "A": "b]"}) == r"[A=b\]] CI=1"
    assert format_pairs({"A": "b=c"}) != format_pairs({"A=b": "c"})
