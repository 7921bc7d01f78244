"""A stream comes out the same however it was cut, and holds back no more than it must."""

import tracemalloc
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitnexus.redaction import Redactor, Values, redact
from gitnexus.redaction.lines import WINDOW
from gitnexus.redaction.rules import RULES

VALUE = "correct-Horse/42 battery"
VALUES = Values.of([VALUE, "horse/42 battery staple", "Zz9-" * 12])
KEY = "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEaB3d\n-----END RSA " + "PRIVATE KEY-----"
TOKEN = b"ghp_" + b"a1B2c3" * 6
PLANTED = st.one_of(
    st.sampled_from([rule.example.encode() for rule in RULES]),
    st.sampled_from(sorted(VALUES.forms())),
    st.sampled_from([KEY.encode(), KEY[:60].encode(), VALUE.encode() + b" staple"]),
    st.sampled_from([b"\n", b" ", b"\r\n", b"\x1b[0m", b"%41", b"\\u0041", b"\xff", "ü".encode()]),
    st.binary(max_size=30),
    st.integers(1, 3).map(lambda n: b"x" * (n * WINDOW // 2 - 7)),
)


def streamed(chunks: Iterable[bytes], values: Values | None = None) -> tuple[bytes, Redactor]:
    stream = Redactor(values)
    return b"".join([*(stream.feed(chunk) for chunk in chunks), stream.finish()]), stream


@settings(deadline=None)
@given(st.lists(PLANTED, max_size=12).map(b"".join), st.lists(st.integers(0, 1 << 30), max_size=8), st.booleans())
def test_any_cutting_gives_the_same(text: bytes, cuts: list[int], known: bool) -> None:
    values = VALUES if known else None
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    whole, first = streamed([text], values)
    pieces, second = streamed([text[a:b] for a, b in pairwise(places)], values)

    assert pieces == whole
    assert second.hidden == first.hidden


@given(st.lists(PLANTED.filter(lambda piece: len(piece) < 1000), max_size=5).map(b"".join))
def test_byte_by_byte_gives_the_same(text: bytes) -> None:
    assert streamed([text[at : at + 1] for at in range(len(text))], VALUES)[0] == streamed([text], VALUES)[0]


@settings(deadline=None)
@example(KEY.encode() + TOKEN + b"\n" + TOKEN + b"\n")
@given(st.lists(PLANTED.filter(lambda piece: len(piece) < 1000), max_size=8).map(b"".join))
def test_a_stream_and_a_whole_text_give_the_same(text: bytes) -> None:
    assert streamed([text])[0] == redact(text).text


@settings(deadline=None)
@given(st.lists(PLANTED, max_size=8).map(b"".join))
def test_places_tell_which_bytes_are_hidden(text: bytes) -> None:
    done, shown, end = redact(text), b"", 0
    for place in done.places:
        shown += text[end : place.start] + f"[{place.rule}]".encode()
        end = place.start + place.size

    assert shown + text[end:] == done.text


@pytest.mark.parametrize("at", [WINDOW // 2 - 20, WINDOW - 20, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW // 2 - 3])
@pytest.mark.parametrize("filler", [b" ", b"x ", b"\n", b"= "])
def test_a_secret_over_the_border_of_a_window_is_hidden(at: int, filler: bytes) -> None:
    before = (filler * at)[: at - 1] + b" "
    text = before + TOKEN + b" " + filler * WINDOW

    assert streamed([text[:WINDOW], text[WINDOW:]])[0] == text.replace(TOKEN, b"[github-token]")


def test_a_secret_that_fills_more_than_a_window_is_hidden_to_its_end() -> None:
    token = b"sk-ant-" + b"a1B2" * WINDOW

    assert streamed([b"x ", token, b" y\nnext\n"])[0] == b"x [anthropic-key] y\nnext\n"


def test_a_key_without_end_is_hidden_as_far_as_it_goes_and_one_with_an_end_to_that() -> None:
    begin, end = b"-----BEGIN " + b"PRIVATE KEY-----", b"-----END " + b"PRIVATE KEY-----"

    assert streamed([b"a\n" + begin + b"\nMII", b"E\n" * 99999])[0] == b"a\n[private-key]"
    assert streamed([b"a " + begin[:9], begin[9:] + b"MII" + end[:9], end[9:] + b" b\nc"])[0] == b"a [private-key] b\nc"


def test_lines_are_told_as_soon_as_they_end() -> None:
    stream = Redactor()

    assert stream.feed(b"one\ntwo\nthr") == b"one\ntwo\n"
    assert stream.feed(b"ee\n") == b"three\n"
    assert stream.finish() == b""


def test_a_line_without_end_needs_no_room() -> None:
    stream = Redactor(VALUES)
    chunk = b"no end in sight, " * 4096
    for _ in range(4):
        stream.feed(chunk)
    tracemalloc.start()
    told = sum(len(stream.feed(chunk)) for _ in range(200))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert told > 199 * len(chunk)
    assert most < 16 * len(chunk)
