"""What a reference says, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.packs.refs import PackReference, parse_reference, parse_references


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("src/app.py", PackReference("file", "src/app.py")),
        ("./src/app.py#L3", PackReference("file", "src/app.py", "", 3, 3)),
        ("file:src/app.py#L3-L9", PackReference("file", "src/app.py", "", 3, 9)),
        ("AGENDA.md#GLOBAL_CONSTRAINTS", PackReference("doc", "AGENDA.md", "GLOBAL_CONSTRAINTS")),
        ("doc:phase.core#write", PackReference("doc", "phase.core", "write")),
        ("doc:docs/a.md#L2-L4", PackReference("doc", "docs/a.md", "", 2, 4)),
        ("grep:def main(a: int)", PackReference("grep", "def main(a: int)")),
        ("grep[src/ui/]:bundle # analyser", PackReference("grep", "bundle # analyser", "src/ui")),
        ("memory:how-we-test.md", PackReference("memory", "how-we-test")),
        ("task:T12", PackReference("task", "T12")),
        ("commit:0a1b2c3d", PackReference("commit", "0a1b2c3d")),
        ("cycle:2", PackReference("cycle", "2")),
        ("artifact:2611-abc/plan.json", PackReference("artifact", "2611-abc", "plan.json")),
    ],
)
def test_a_reference_means_one_thing_and_is_written_in_one_way(text: str, meant: PackReference) -> None:
    assert parse_reference(text) == meant
    assert parse_reference(str(meant)) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "file:",
        "#",
        "./#GOAL",
        "memory:.md",
        "grep: ",
        "a.py#L9-L3",
        "a.py#L0",
        "file:a.py#GOAL",
        "artifact:run",
        "a\nb",
        "x" * 1001,
        "\ud800",
    ],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_reference(text)


@given(st.text(max_size=60))
def test_any_text_is_refused_or_read_back_as_it_is_written(text: str) -> None:
    try:
        found = parse_reference(text)
    except Invalid:
        return

    assert parse_reference(str(found)) == found


def test_the_same_twice_is_one() -> None:
    assert [str(one) for one in parse_references(["a.py", "b.py", "file:a.py"])] == ["file:a.py", "file:b.py"]
