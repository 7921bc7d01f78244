"""A reference is what the grammar says and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.backlog.reference import Reference, one, parsed
from gitnexus.base.errors import BadReference, Invalid


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("T1", Reference(None, "T1")),
        ("T007", Reference(None, "T007")),
        (".:T12", Reference(None, "T12")),
        ("my-api:T123", Reference("my-api", "T123")),
        ("a_B-9:T0", Reference("a_B-9", "T0")),
        ("*:T1", Reference("*", "T1")),
        ("T1:T2", Reference("T1", "T2")),
    ],
)
def test_what_the_grammar_allows(text: str, meant: Reference) -> None:
    assert parsed(text) == meant


@pytest.mark.parametrize(
    "text",
    ["", " ", "t1", "T", "T1 ", " T1", "T1\n", "T-1", "T1a", "1", "a:b:T1", ":T1", "a:", "a :T1", "a: T1", "..:T1",
     "**:T1", "ä:T1", "T١", "T1:", "my api:T1", "a/b:T1", "x:t1"],
)  # fmt: skip
def test_what_it_does_not(text: str) -> None:
    with pytest.raises(BadReference) as refused:
        parsed(text)

    assert (refused.value.code, refused.value.name) == (72, "E_NEXUS_INVALID_SYNTAX")


def test_every_project_is_not_one_task() -> None:
    with pytest.raises(Invalid):
        one("*:T1")


@given(st.one_of(st.none(), st.from_regex(r"[A-Za-z0-9_-]+", fullmatch=True)), st.integers(0, 10**30))
def test_what_is_written_is_read_back(project: str | None, number: int) -> None:
    reference = Reference(project, f"T{number}")

    assert parsed(str(reference)) == reference


@pytest.mark.parametrize(
    ("text", "meant"), [("t12", "T12"), ("api:t1", "api:T1"), ("api: T1", "api:T1"), (" T1", "T1")]
)
def test_a_likely_slip_is_answered_with_what_was_meant(text: str, meant: str) -> None:
    with pytest.raises(BadReference, match=rf"did you mean {meant}\?$"):
        parsed(text)
