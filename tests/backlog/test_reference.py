"""A reference is what the grammar says and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.backlog.reference import TaskReference, find_references, parse_reference, parse_single_reference
from gitnexus.base.errors import BadReference, Invalid


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("T1", TaskReference(None, "T1")),
        ("T007", TaskReference(None, "T007")),
        (".:T12", TaskReference(None, "T12")),
        ("my-api:T123", TaskReference("my-api", "T123")),
        ("a_B-9:T0", TaskReference("a_B-9", "T0")),
        ("*:T1", TaskReference("*", "T1")),
        ("T1:T2", TaskReference("T1", "T2")),
    ],
)
def test_what_the_grammar_allows(text: str, meant: TaskReference) -> None:
    assert parse_reference(text) == meant


@pytest.mark.parametrize(
    "text",
    ["", " ", "t1", "T", "T1 ", " T1", "T1\n", "T-1", "T1a", "1", "a:b:T1", ":T1", "a:", "a :T1", "a: T1", "..:T1",
     "**:T1", "ä:T1", "T١", "T1:", "my api:T1", "a/b:T1", "x:t1"],
)  # fmt: skip
def test_what_it_does_not(text: str) -> None:
    with pytest.raises(BadReference) as refused:
        parse_reference(text)

    assert (refused.value.code, refused.value.name) == (72, "E_NEXUS_INVALID_SYNTAX")


def test_every_project_is_not_one_task() -> None:
    with pytest.raises(Invalid):
        parse_single_reference("*:T1")


@given(st.one_of(st.none(), st.from_regex(r"[A-Za-z0-9_-]+", fullmatch=True)), st.integers(0, 10**30))
def test_what_is_written_is_read_back(project: str | None, number: int) -> None:
    reference = TaskReference(project, f"T{number}")

    assert parse_reference(str(reference)) == reference


@pytest.mark.parametrize(
    ("text", "meant"), [("t12", "T12"), ("api:t1", "api:T1"), ("api: T1", "api:T1"), (" T1", "T1")]
)
def test_a_likely_slip_is_answered_with_what_was_meant(text: str, meant: str) -> None:
    with pytest.raises(BadReference, match=rf"did you mean {meant}\?$"):
        parse_reference(text)


def test_references_in_a_text_are_those_that_are_words_and_that_a_command_takes() -> None:
    text = "T1, (my-api:T2) *:T3; .:T4\nMy_1:T5! xT6 my.api:T7 a/b:T8 T9x T10/a ä:T11"

    references = find_references(text)

    assert [str(row) for row in references] == ["T1", "my-api:T2", "*:T3", "T4", "My_1:T5"]
    assert [parse_reference(str(row)) for row in references] == references
