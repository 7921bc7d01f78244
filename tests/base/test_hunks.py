"""Hunks of a unified diff: applied exactly, or refused."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Conflict
from gitnexus.base.hunks import apply_hunks

lines = st.lists(st.text("ab\r \x0b\u2028", max_size=3).map(lambda line: f"{line}\n"), max_size=8)


@given(old=lines, new=lines)
def test_what_a_diff_says_comes_out(old: list[str], new: list[str]) -> None:
    diff = "".join(difflib.unified_diff(old, new, "a", "b"))

    if old != new:
        assert apply_hunks("".join(old), diff) == "".join(new)


@pytest.mark.parametrize(
    ("text", "diff", "expected"),
    [
        ("", "@@ -0,0 +1 @@\n+one\n", "one\n"),
        ("a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n", "a\nc\n"),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "b"),
        ("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n"),
    ],
)
def test_the_ends_of_files_are_as_the_diff_says(text: str, diff: str, expected: str) -> None:
    assert apply_hunks(text, diff) == expected


@pytest.mark.parametrize(
    "diff",
    [
        "",
        "no hunk",
        "@@ -1 +1 @@\n-x\n+y\n",
        "@@ -9 +9 @@\n-a\n+b\n",
        "@@ -1,2 +1,2 @@\n-a\n+b\n",
        "@@ -1 +1 @@\n*a\n",
        "@@ nonsense @@\n-a\n",
        "@@ -2 +2 @@\n-b\n+x\n@@ -1 +1 @@\n-a\n+y\n",
        "@@ -99999999999999999999 +1 @@\n-a\n",
    ],
)
def test_what_does_not_fit_is_refused(diff: str) -> None:
    with pytest.raises(Conflict):
        apply_hunks("a\nb\n", diff)
