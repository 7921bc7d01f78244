"""Text from somebody else cannot draw on the terminal."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.blocks import found, with_block, without
from gitnexus.base.text import one_line, visible


def test_escapes_bidi_and_invisible_characters_are_spelled_out() -> None:
    assert visible("a\x1b[2Jb\u202ec\u200bd\r") == "a\\x1b[2Jb\\u202ec\\u200bd\\x0d"


def test_umlauts_and_ideographs_stay_as_they_are() -> None:
    assert visible("Grüße 世界 🙂\n") == "Grüße 世界 🙂\n"


@given(st.text())
def test_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    shown = visible(text, keep="")

    assert not [ch for ch in shown if unicodedata.category(ch) in ("Cc", "Cs", "Zl", "Zp")]


@given(st.text(), st.integers(2, 50))
def test_one_line_is_one_line_and_not_too_long(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert len(line) <= limit
    assert "\n" not in line


@given(st.text().filter(lambda text: "git nexus" not in text))
def test_a_block_at_the_top_leaves_the_rest_to_the_byte(text: str) -> None:
    assert without(with_block(text, "x\n", after_first_line=False)) == text


@given(st.text().filter(lambda text: "git nexus" not in text))
def test_a_block_below_the_first_line_leaves_the_rest_to_the_byte(text: str) -> None:
    script = "#!/bin/sh\n" + text

    assert without(with_block(script, "x\n", after_first_line=True)) == script


def test_a_second_block_replaces_the_first() -> None:
    once = with_block("#!/bin/sh\nrest\n", "old\n", after_first_line=True)
    twice = with_block(once, "new\n", after_first_line=True)

    assert found(twice) == "# >>> git nexus >>>\nnew\n# <<< git nexus <<<\n"
    assert without(twice) == "#!/bin/sh\nrest\n"
