"""Reading a document: what counts as a section, a row, a link, and what any bytes do to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.docgraph.model import DocLink
from gitnexus.docgraph.parse import LARGEST, normalize_heading, parse_doc


def test_sections_rows_and_links_have_their_lines() -> None:
    doc = parse_doc(
        b"---\nID: phase.x\nSTATUS: active\nLINKS:\n  - plan: .nexus/plans/p.json\n  - run: r1\nDEPENDS: phase.a\n---\n"
        b"\n# Top\n\nGOAL:\n- be [fast](a.md)\n  and [small](b.md#c)\n\nSTEPS:\n- [ ] one {#one}\n  - [X] two\n\n"
        b"## Notes {#notes}\n\nthe end\n\n",
        "docs/phases/x.md",
    )

    assert (doc.id, doc.status, doc.title, doc.front, doc.sound) == ("phase.x", "active", "Top", (1, 8), True)
    assert [(one.name, one.id, one.level, one.first, one.last) for one in doc.sections] == [
        ("TOP", "", 1, 10, 22),
        ("GOAL", "", 7, 12, 14),
        ("STEPS", "", 7, 16, 18),
        ("NOTES", "notes", 2, 20, 22),
    ]
    assert [(one.text, one.id, one.done, one.section, one.depth, one.first, one.last) for one in doc.items] == [
        ("be [fast](a.md) and [small](b.md#c)", "", None, "GOAL", 1, 13, 14),
        ("one", "one", False, "STEPS", 1, 17, 18),
        ("two", "", True, "STEPS", 2, 18, 18),
    ]
    assert doc.links == (
        DocLink("plan", ".nexus/plans/p.json", 5),
        DocLink("run", "r1", 6),
        DocLink("depends", "phase.a", 7),
        DocLink("", "a.md", 13, "GOAL"),
        DocLink("", "b.md#c", 14, "GOAL"),
    )
    assert doc.findings == ()
    assert doc.cut(12, 14) == "GOAL:\n- be [fast](a.md)\n  and [small](b.md#c)\n"


@pytest.mark.parametrize(
    "text",
    [
        "```\nGOAL:\n- [x](y.md)\n```\n",
        "<!--\nGOAL:\n# Top\n-->\n",
        "    GOAL:\n    # Top\n",
        "`[x](y.md)`\n",
        "\\[x](y.md)\n",
        "goal:\n",
        "GOAL: to be inline is to be text\n",
    ],
)
def test_what_is_shown_and_not_said_is_no_section_and_no_link(text: str) -> None:
    doc = parse_doc(text.encode(), "a.md")

    assert (doc.sections, doc.links) == ((), ())


@pytest.mark.parametrize(
    ("raw", "code", "line"),
    [
        (b"# a\n\xff\n", "encoding", 2),
        (b"a\nb\0", "half-written", 2),
        (b"---\nID: a\n", "front-matter", 1),
        (b"---\nID: a\nID: b\n---\n", "front-matter", 3),
        (b"---\nid: a\nID: b\n---\n", "front-matter", 3),
        (b"---\nID: [a\n---\n", "front-matter", 3),
        (b"---\n- a\n---\n", "front-matter", 2),
        (b"---\nA: &x 1\nB: *x\n---\n", "front-matter", 3),
        (b"---\nLINKS:\n  - plan: [a]\n---\n", "front-matter", 3),
        (b"a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n", "conflict", 2),
        (b"x" * (LARGEST + 1), "too-large", 1),
    ],
)
def test_a_document_that_cannot_be_read_says_where_and_is_not_sound(raw: bytes, code: str, line: int) -> None:
    doc = parse_doc(raw, "a.md")

    assert [(one.code, one.line, one.weight) for one in doc.findings] == [(code, line, "problem")]
    assert not doc.sound


@pytest.mark.parametrize(
    ("text", "code", "line", "weight"),
    [
        ("GOAL:\n- a\nSTEPS:\n- b\n", "label-in-row", 3, "problem"),
        ("- a {#1!}\n", "bad-id", 1, "problem"),
        ("```\nnever closed\n", "fence", 1, "hint"),
        ("word " * 100, "prose", 1, "hint"),
    ],
)
def test_what_breaks_the_strict_form_is_found(text: str, code: str, line: int, weight: str) -> None:
    doc = parse_doc(text.encode(), "a.md")

    assert [(one.code, one.line, one.weight) for one in doc.findings] == [(code, line, weight)]
    assert doc.sound


@pytest.mark.parametrize(
    "text", ["```\nx\n```\n", "> ```\n> x\n> ```\n", "~~~~\n~~~\n~~~~\n", "- a\n\n  ```\n  x\n  ```\n"]
)
def test_code_that_ends_is_no_finding(text: str) -> None:
    assert parse_doc(text.encode(), "a.md").findings == ()


def test_headings_are_one_however_they_are_spelled() -> None:
    spellings = ["Global constraints", "global-constraints", "GLOBAL_CONSTRAINTS:", " Global  Constraints "]

    assert {normalize_heading(one) for one in spellings} == {"GLOBAL_CONSTRAINTS"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_counts_the_same(end: str) -> None:
    text = "\ufeff---\nID: a\n---\n# Top\n\nGOAL:\n- a\n".replace("\n", end)

    doc = parse_doc(text.encode(), "a.md")

    assert (doc.id, [(one.name, one.first, one.last) for one in doc.sections]) == ("a", [("TOP", 4, 7), ("GOAL", 6, 7)])


PIECES = st.sampled_from(
    [
        "---\n",
        "ID: a\n",
        "LINKS:\n  - run: x\n",
        "STATUS: [\n",
        "# a\n",
        "GOAL:\n",
        "- [ ] b {#c}\n",
        "  - d\n",
        "\n",
        "> ",
        "```\n",
        "<!--",
        "-->\n",
        "[x](y)",
        "[x]: z\n",
        "\r",
        "\t",
        "\0",
        "\u2028",
        "*a",
        "&b",
        "1. ",
        "===\n",
        "<<<<<<< a\n",
    ]
)


@given(st.one_of(st.binary(max_size=400), st.lists(PIECES, max_size=30).map(lambda some: "".join(some).encode())))
def test_no_bytes_make_it_fail_and_every_line_is_in_the_document(raw: bytes) -> None:
    doc = parse_doc(raw, "a.md")

    assert doc.sound or doc.findings
    if doc.sound:
        assert "".join(doc.lines).encode() == raw
        spans = [(one.first, one.last) for one in doc.sections] + [(one.first, one.last) for one in doc.items]
        assert all(1 <= first <= last <= len(doc.lines) for first, last in spans)
        assert all(1 <= one.line <= max(len(doc.lines), 1) for one in (*doc.links, *doc.findings))
