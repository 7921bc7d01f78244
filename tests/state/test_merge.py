"""Three-way merges: both sides' changes or a refusal, never one side silently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.state.merge import Unmergeable, merge_file, merge_json_values, why_unreadable

leaves = (
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2) | st.lists(st.integers(0, 2), max_size=2)
)
objects = st.recursive(leaves, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6)
documents = st.dictionaries(st.sampled_from("abcd"), objects, max_size=4)


@given(documents, documents)
def test_one_sided_changes_win(base: dict[str, object], changed: dict[str, object]) -> None:
    assert merge_json_values(base, changed, base) == changed
    assert merge_json_values(base, base, changed) == changed
    assert merge_json_values(base, changed, changed) == changed


@given(documents, documents, documents)
def test_the_two_sides_are_treated_alike(
    base: dict[str, object], mine: dict[str, object], theirs: dict[str, object]
) -> None:
    def outcome(a: dict[str, object], b: dict[str, object]) -> object:
        try:
            return merge_json_values(base, a, b)
        except Unmergeable:
            return Unmergeable

    assert outcome(mine, theirs) == outcome(theirs, mine)


@given(documents, documents, documents)
def test_a_merge_holds_every_value_that_one_side_changed(
    base: dict[str, object], mine: dict[str, object], theirs: dict[str, object]
) -> None:
    try:
        result = merge_json_values(base, mine, theirs)
    except Unmergeable:
        return
    for side, other in ((mine, theirs), (theirs, mine)):
        for key in {*base, *side}:
            untouched_there = key in base and key in other and _typed(other[key]) == _typed(base[key])
            absent_there = key not in base and key not in other
            if untouched_there or absent_there:
                assert (key in result) == (key in side)
                if key in side:
                    assert result[key] == side[key]


def _typed(value: object) -> str:
    return repr(value)


def test_true_and_one_are_not_the_same_value() -> None:
    assert merge_json_values({"a": 1}, {"a": True}, {"a": 1}) == {"a": True}
    with pytest.raises(Unmergeable):
        merge_json_values({"a": 1}, {"a": True}, {"a": 2})


def test_text_merges_by_lines_and_refuses_a_clash() -> None:
    assert merge_file("a.md", b"1\n2\n3\n", b"1\n2\n3\nmine\n", b"theirs\n2\n3\n") == b"theirs\n2\n3\nmine\n"
    with pytest.raises(Unmergeable):
        merge_file("a.md", b"1\n", b"mine\n", b"theirs\n")


def test_binary_files_are_never_merged_by_lines() -> None:
    with pytest.raises(Unmergeable):
        merge_file("a.bin", b"1\n2\n3\n\0", b"1\n2\n3\n\0mine", b"0\n2\n3\n\0")


def test_a_heading_underlined_with_equals_signs_is_no_merge_marker() -> None:
    assert why_unreadable("a.md", b"Title\n=======\ntext\n") is None
    assert why_unreadable("a.md", b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n") == "it has merge markers"
