"""Task references: the grammar, and nothing but the grammar."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitnexus.base.errors import BadReference
from gitnexus.projects.reference import Reference, parsed

NAMES = st.text("abcXYZ0123456789-_", min_size=1, max_size=20)
TASKS = st.text("0123456789", min_size=1, max_size=8).map(lambda digits: f"T{digits}")
# The ABNF once more, written as its rules are.
PROJECT_NAME = r"[A-Za-z0-9_-]+"
GRAMMAR = re.compile(rf"(({PROJECT_NAME}|\.|\*):)?T[0-9]+")


@given(st.one_of(st.none(), st.just("."), st.just("*"), NAMES), TASKS)
def test_what_the_grammar_makes_is_read_and_written_back_as_it_was(project: str | None, task: str) -> None:
    text = task if project is None else f"{project}:{task}"

    found = parsed(text)

    assert found == Reference(project, task)
    assert str(found) == text
    assert found.is_current == (project in (None, "."))
    assert found.is_everywhere == (project == "*")


@given(st.one_of(st.text(max_size=20), st.text("aT1:.*-_ \n٣", max_size=8)))
@example("T١")
@example("T1\n")
@example("ａ:T1")
def test_everything_else_is_72(text: str) -> None:
    if GRAMMAR.fullmatch(text) and text.isascii():
        assert str(parsed(text)) == text
        return

    with pytest.raises(BadReference) as refused:
        parsed(text)

    assert refused.value.code == 72
    assert refused.value.fix == "git nexus query -h"


@pytest.mark.parametrize(
    "text", ["", " ", "t1", "T", "1", "T1 ", " T1", "a:b:T1", ":T1", "a:", "a :T1", "..:T1", "**:T1", "a/b:T1", "T1:a"]
)
def test_what_people_mistype_is_72(text: str) -> None:
    with pytest.raises(BadReference):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "meant"), [("t12", "T12"), ("api:t1", "api:T1"), ("api: T1", "api:T1"), (" T1", "T1")]
)
def test_a_likely_slip_is_answered_with_what_was_meant(text: str, meant: str) -> None:
    with pytest.raises(BadReference, match=rf"did you mean {meant}\?$"):
        parsed(text)


def test_zeros_are_kept_as_they_were_found() -> None:
    assert parsed("api:T001").task == "T001"
