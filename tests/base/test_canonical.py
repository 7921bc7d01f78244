"""Canonical JSON: one value, one text; and a reader that two readers agree with."""

import json
import math

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.canonical import canonical_json, json_document, parse_json
from gitnexus.base.errors import Invalid

safe_text = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda f: f != int(f) or abs(f) < 2**53 or abs(f) >= 1e21)
    | safe_text,
    lambda inner: st.lists(inner) | st.dictionaries(safe_text, inner),
    max_leaves=20,
)


@given(values)
def test_what_is_written_reads_back_as_the_same_value(value: object) -> None:
    assert parse_json(canonical_json(value)) == value


@given(st.dictionaries(safe_text, values, max_size=5))
def test_the_order_of_keys_does_not_change_the_text(value: dict[str, object]) -> None:
    backwards = dict(reversed(list(value.items())))

    assert canonical_json(backwards) == canonical_json(value)


@given(values)
def test_the_quick_way_writes_the_very_bytes_of_the_standard(value: object) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


def test_keys_are_sorted_as_rfc_8785_says_by_utf_16_units() -> None:
    value = {"\U0001f600": 1, "\ufb33": 2, "a": 3, "1": 4}

    assert canonical_json(value).decode() == '{"1":4,"a":3,"\U0001f600":1,"\ufb33":2}'


def test_a_document_ends_with_one_newline() -> None:
    assert json_document({"b": 1, "a": [1.0, 1e30]}) == b'{"a":[1,1e+30],"b":1}\n'


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"a":1,"a":2}', "the key 'a' occurs twice"),
        (b'{"a":NaN}', "NaN is not a JSON number"),
        (b"[Infinity]", "Infinity is not a JSON number"),
        (b"[9007199254740992]", "larger than 2^53"),
        (b'["\\ud800"]', "an unpaired surrogate"),
        (b"\xff", "byte 0 is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"", "Expecting value"),
        (b"{} {}", "Extra data"),
    ],
)
def test_what_two_readers_could_take_differently_is_refused(raw: bytes, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_json(raw)

    assert words in refused.value.message


@pytest.mark.parametrize("value", [math.nan, 2**60, 2.0**60, "\ud800", {1: 2}, object()])
def test_what_json_cannot_say_is_not_written(value: object) -> None:
    with pytest.raises(Invalid):
        canonical_json(value)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_and_never_crash(raw: bytes) -> None:
    try:
        value = parse_json(raw)
    except Invalid:
        return
    assert value == json.loads(raw)
