"""Text from somebody else cannot draw on the terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.blocks import find_block, with_block, without_block
from gitnexus.base.homoglyphs import suspicious_words
from gitnexus.base.text import frame_text, make_visible, one_line, visible_bytes


def test_escapes_bidi_and_invisible_characters_are_spelled_out() -> None:
    assert make_visible("a\x1b[2Jb\u202ec\u200bd\r") == "a\\x1b[2Jb\\u202ec\\u200bd\\x0d"


def test_umlauts_and_ideographs_stay_as_they_are() -> None:
    assert make_visible("Grüße 世界 🙂\n") == "Grüße 世界 🙂\n"


@given(st.text())
def test_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    shown = make_visible(text, keep="")

    assert not [ch for ch in shown if unicodedata.category(ch) in ("Cc", "Cs", "Zl", "Zp")]


@given(st.text(), st.integers(2, 50))
def test_one_line_is_one_line_and_not_too_long(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert len(line) <= limit
    assert "\n" not in line


@given(st.text().filter(lambda text: "git nexus" not in text))
def test_a_block_at_the_top_leaves_the_rest_to_the_byte(text: str) -> None:
    assert without_block(with_block(text, "x\n", after_first_line=False)) == text


@given(st.text().filter(lambda text: "git nexus" not in text))
def test_a_block_below_the_first_line_leaves_the_rest_to_the_byte(text: str) -> None:
    script = "#!/bin/sh\n" + text

    assert without_block(with_block(script, "x\n", after_first_line=True)) == script


def test_a_second_block_replaces_the_first() -> None:
    once = with_block("#!/bin/sh\nrest\n", "old\n", after_first_line=True)
    twice = with_block(once, "new\n", after_first_line=True)

    assert find_block(twice) == "# >>> git nexus >>>\nnew\n# <<< git nexus <<<\n"
    assert without_block(twice) == "#!/bin/sh\nrest\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("+safe()\revil()", "+safe()\\x0devil()", id="055-lone-cr"),
        pytest.param("a\x1b]0;t\x07\x9b2J", "a\\x1b]0;t\\x07\\x9b2J", id="166-escapes"),
        pytest.param("a\u202eb\u2066c\u200ed", "a\\u202eb\\u2066c\\u200ed", id="166-bidi"),
        pytest.param("r\u200bm\u200d \u2060x\ufeff", "r\\u200bm\\u200d \\u2060x\\ufeff", id="166-zero-width"),
        pytest.param("x\U000e0041\U000e007f", "x\\U000e0041\\U000e007f", id="166-tags"),
        pytest.param("x\ufe00\ufe0f\U000e0101", "x\\ufe00\\ufe0f\\U000e0101", id="166-variation-selectors"),
        pytest.param("\u3164=\u115f\uffa0\u2800", "\\u3164=\\u115f\\uffa0\\u2800", id="166-fillers"),
        pytest.param("❤\ufe0f 👩\u200d🚀", "❤\ufe0f 👩\u200d🚀", id="166-pictures-stay"),
        pytest.param("[link=x]a[/] [on red]", "[link=x]a[/] [on red]", id="165-markup-is-text"),
    ],
)
def test_what_a_person_is_shown_is_what_is_there(text: str, shown: str) -> None:
    assert make_visible(text) == shown


def test_063_bytes_that_are_no_utf_8_are_spelled_out() -> None:
    assert visible_bytes(b"caf\xe9 \xc3\xa9\x00") == "caf\\xe9 é\\x00"
    assert make_visible("caf\udce9") == "caf\\xe9"


def test_168_agent_text_stands_behind_a_gutter_on_every_line_of_the_terminal() -> None:
    lines = frame_text("one\n✔ Approved by user\r\n" + "x" * 25, width=10)

    assert lines[:2] == ["│ one", "│ ✔ Approved"]
    assert all(line.startswith(("│ ", "┆ ")) and len(line) <= 12 for line in lines)
    assert "\r" not in "".join(lines)
    assert frame_text("世界世界", width=4) == ["│ 世界", "┆ 世界"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("p\u0430ssword = 1", [("p\u0430ssword", "mixes Latin and Cyrillic letters")], id="058-cyrillic-a"),
        pytest.param("https://\u0430pple.com/x", ["mixes Latin and Cyrillic letters", "is the host xn--pple-43d.com"],
                     id="058-host"),
        pytest.param("see xn--pple-43d.com", ["is shown by browsers as \u0430pple.com"], id="058-punycode"),
        pytest.param("rm -rf\u00a0/", ["has a blank that is not a space"], id="166-no-break-space"),
        pytest.param("git\u200b push", ["has invisible characters"], id="166-zero-width"),
        pytest.param("Grüße, 世界, привет, Ελλάδα and plain words", [], id="058-one-script-a-word"),
        pytest.param("an ordinary line, a.example.com", [], id="058-ascii"),
        pytest.param("src/grüße.txt, grüße.tar.json", [], id="058-a-file"),
        pytest.param("grüße.md", ["is the host xn--grsse-lva.md"], id="058-an-ending-that-hosts-have-too"),
    ],
)  # fmt: skip
def test_words_that_are_not_what_they_look_like_are_named(text: str, found: list[object]) -> None:
    said = suspicious_words(text)

    assert [tuple(each) if found and isinstance(found[0], tuple) else each.reason for each in said] == found


@given(st.text())
def test_any_text_can_be_looked_at_twice(text: str) -> None:
    for each in suspicious_words(text):
        assert make_visible(each.word, keep="") == each.word
        assert make_visible(each.reason, keep="") == each.reason


def test_a_tab_in_a_frame_is_drawn_as_wide_as_it_is_and_nothing_else_looks_like_one() -> None:
    assert frame_text("+\tif x:\n+\t\ty\t") == ["│ +⇥  if x:", "│ +⇥  ⇥   y⇥  "]
    assert frame_text("a ⇥ b") == ["│ a \\u21e5 b"]
    assert frame_text("⇥\t") == ["│ \\u21e5⇥ "]
