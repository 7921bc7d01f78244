"""Editing a document: one word or row, and every other byte as it was."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Conflict, Invalid
from gitnexus.docgraph.edit import with_box, with_link, with_row, with_status
from gitnexus.docgraph.parse import parse_doc


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\nID: a\nSTATUS: active  # now\n---\nx", "---\nID: a\nSTATUS: done  # now\n---\nx"),
        ("---\nSTATUS: 'active'\n---\n", "---\nSTATUS: done\n---\n"),
        ("---\nstatus: active\n---\n", "---\nstatus: done\n---\n"),
        ("---\nSTATUS:\n---\n", "---\nSTATUS: done\n---\n"),
        ("---\nID: a\nX: 1\n---\n", "---\nID: a\nSTATUS: done\nX: 1\n---\n"),
        ("---\r\nX: 1\r\n---\r\n", "---\r\nX: 1\r\nSTATUS: done\r\n---\r\n"),
        ("# a\n", "---\nSTATUS: done\n---\n# a\n"),
        ("\ufeff# a\r\n", "\ufeff---\r\nSTATUS: done\r\n---\r\n# a\r\n"),
        ("", "---\nSTATUS: done\n---\n"),
    ],
)
def test_a_status_is_set_where_it_stands_or_where_it_belongs(before: str, after: str) -> None:
    assert with_status(parse_doc(before.encode(), "a.md"), "done").decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\nLINKS:\n  - plan: p\nID: a\n---\n", "---\nLINKS:\n  - plan: p\n  - run: r\nID: a\n---\n"),
        ("---\nLINKS:\n- plan: p\n---\n", "---\nLINKS:\n- plan: p\n- run: r\n---\n"),
        ("---\nLINKS:\n  - plan: p\n    doc: d\n---\n", "---\nLINKS:\n  - plan: p\n    doc: d\n  - run: r\n---\n"),
        ("---\nLINKS:\n---\n", "---\nLINKS:\n  - run: r\n---\n"),
        ("---\nLINKS: []\n---\n", "---\nLINKS:\n  - run: r\n---\n"),
        ("---\nID: a\n---\n", "---\nID: a\nLINKS:\n  - run: r\n---\n"),
        ("text", "---\nLINKS:\n  - run: r\n---\ntext"),
        ("---\nLINKS:\n  - run: r\n---\n", "---\nLINKS:\n  - run: r\n---\n"),
    ],
)
def test_a_link_is_added_once_at_the_end_of_the_list(before: str, after: str) -> None:
    assert with_link(parse_doc(before.encode(), "a.md"), "run", "r").decode() == after


def test_a_target_that_yaml_would_misread_is_quoted() -> None:
    raw = with_link(parse_doc(b"", "a.md"), "doc", "a: b #c")

    assert [(one.kind, one.target) for one in parse_doc(raw, "a.md").links] == [("doc", "a: b #c")]


def test_a_list_in_one_line_is_left_to_the_person() -> None:
    with pytest.raises(Invalid) as refused:
        with_link(parse_doc(b"---\nLINKS: [{plan: p}]\n---\n", "a.md"), "run", "r")

    assert "by hand" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- [ ] a\n", "- [x] a\n"),
        ("* [x] a", "* [ ] a"),
        ("1. [ ] a [x]\n", "1. [x] a [x]\n"),
        ("> - [ ] a\r\n", "> - [x] a\r\n"),
        ("-   [X] a\n", "-   [ ] a\n"),
    ],
)
def test_a_box_is_ticked_or_opened(before: str, after: str) -> None:
    doc = parse_doc(before.encode(), "a.md")

    assert with_box(doc, doc.items[0], not doc.items[0].done).decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("PHASES:\n- [ ] [A](a.md)\n  more\n\nNEXT:\n", "PHASES:\n- [ ] [A](a.md)\n  more\n- [B](b.md)\n\nNEXT:\n"),
        ("PHASES:\n\nNEXT:\n", "PHASES:\n- [B](b.md)\n\nNEXT:\n"),
        ("## Phases\n* a", "## Phases\n* a\n* [B](b.md)"),
        ("# Top\n", "# Top\n\nPHASES:\n- [B](b.md)\n"),
        ("", "\nPHASES:\n- [B](b.md)\n"),
    ],
)
def test_a_row_is_added_at_the_end_of_its_section(before: str, after: str) -> None:
    assert with_row(parse_doc(before.encode(), "a.md"), "PHASES", "[B](b.md)", "b.md").decode() == after


@pytest.mark.parametrize(
    ("raw", "error"),
    [(b"<<<<<<< a\n=======\n>>>>>>> b\n", Conflict), (b"---\nID: a\n", Invalid), (b"\xff", Invalid), (b"a\0", Invalid)],
)
def test_what_is_half_written_is_not_touched(raw: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        with_status(parse_doc(raw, "a.md"), "done")


PIECES = st.sampled_from(
    [
        "---\n",
        "ID: a\n",
        "LINKS:\n",
        "  - run: x\n",
        "- doc: y\n",
        "STATUS: active\n",
        "STATUS: |\n  active\n",
        "# a\n",
        "PHASES:\n",
        "- [ ] b {#c}\n",
        "  - [x] d\n",
        "\n",
        "> ",
        "```\n",
        "<!--\n",
        "-->\n",
        "[x](y)\n",
        "1. [ ] z\n",
        "===\n",
        "\r\n",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_an_edit_is_refused_or_adds_what_was_asked_and_takes_nothing_else(text: str) -> None:
    doc = parse_doc(text.encode(), "a.md")
    before = text.splitlines(keepends=True)

    with contextlib.suppress(Invalid):
        after = parse_doc(with_link(doc, "run", "r9"), "a.md")
        assert ("run", "r9") in [(one.kind, one.target) for one in after.links]
        assert _gone(before, after.text) == 0
    with contextlib.suppress(Invalid):
        assert parse_doc(with_status(doc, "done"), "a.md").status == "done"
    for at, item in enumerate(doc.items):
        if item.done is False:
            with contextlib.suppress(Invalid):
                ticked = parse_doc(with_box(doc, item, True), "a.md")
                assert ticked.items[at].done is True
                assert _gone(before, ticked.text) == 1
                assert with_box(ticked, ticked.items[at], False) == doc.raw
    with contextlib.suppress(Invalid):
        # The last line gets an end, where it had none.
        after_row = with_row(doc, "PHASES", "[n](new.md)", "new.md").decode()
        assert _gone(before, after_row) <= (not text.endswith("\n"))


def _gone(before: list[str], after: str) -> int:
    """Return how many lines are no longer there, in their order: all but the longest common sequence."""
    row = [0] * (len(before) + 1)
    for line in after.splitlines(keepends=True):
        above = row[:]
        for at, old in enumerate(before, 1):
            row[at] = above[at - 1] + 1 if old == line else max(above[at], row[at - 1])
    return len(before) - row[-1]
