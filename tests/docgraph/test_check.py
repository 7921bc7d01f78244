"""What does not hold together is named with its file and line."""

import pytest

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.docgraph import slice_from_reference
from gitnexus.docgraph.check import MOST_LINES, find_problems
from gitnexus.git import blob_id
from tests.docgraph.scene import AGENDA, FIRST, SECOND, graph


def told(files: dict[str, str | bytes], runs: tuple[str, ...] = (), tasks: tuple[str, ...] = ()) -> list[str]:
    return [f"{one.path}:{one.line} {one.code}" for one in find_problems(graph(files, runs, tasks))]


def test_a_sound_graph_has_no_findings_and_its_phases_are_in_the_order_of_the_agenda() -> None:
    rows = "PHASES:\n- [ ] [Second](docs/phases/second.md)\n- [x] [First](docs/phases/first.md)\n"
    turned = AGENDA.partition("PHASES:")[0] + rows

    assert find_problems(graph()) == []
    assert [one.id for one in graph({"AGENDA.md": turned}).phases] == ["phase.second", "phase.first"]


TOP, ONE, TWO = "AGENDA.md", "docs/phases/first.md", "docs/phases/second.md"
LINKS = "---\nID: phase.first\nSTATUS: done\nLINKS:\n  - {}\n---\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({TOP: AGENDA + "\n" * MOST_LINES}, [f"AGENDA.md:{MOST_LINES + 1} oversized"]),
        ({TOP: AGENDA + "- " + "x" * 7000 + "\n"}, ["AGENDA.md:13 oversized"]),
        ({TOP: AGENDA.replace("- [x] [First](docs/phases/first.md)\n", "")}, ["docs/phases/first.md:1 not-in-agenda"]),
        ({TOP: AGENDA.replace("[x]", "[ ]")}, ["AGENDA.md:11 box"]),
        ({TOP: AGENDA + "- [gone](docs/phases/gone.md)\n"}, ["AGENDA.md:13 broken-link"]),
        ({TOP: AGENDA + "\n[a](readme.md#nope)\n[b](../x.md)\n[c]()\n"},
         ["AGENDA.md:14 broken-link", "AGENDA.md:15 broken-link", "AGENDA.md:16 broken-link"]),
        ({TOP: AGENDA + "\n[a](https://x.org) [b](mailto:a@b.c) [c](#phases) [d](/readme.md#use) [e](docs)\n"}, []),
        ({TOP: AGENDA + "\n# Another\n"}, ["AGENDA.md:14 several-titles"]),
        ({TOP: AGENDA + "\nPHASES:\n"}, ["AGENDA.md:14 section-twice"]),
        ({TOP: AGENDA.replace("no network", "no network {#a}") + "- b {#a}\n"}, ["AGENDA.md:13 id-twice"]),
        ({ONE: FIRST.replace("phase.first", "phase.second"),
          TWO: SECOND.replace("DEPENDS: [phase.first]", "")}, ["docs/phases/second.md:2 id-twice"]),
        ({ONE: FIRST.replace("ID: phase.first\n", "")},
         ["docs/phases/first.md:1 no-id", "docs/phases/second.md:4 unknown-id"]),
        ({TWO: SECOND.replace("active", "busy")}, ["docs/phases/second.md:3 bad-status"]),
        ({TWO: SECOND.replace("phase.second", "2nd phase")}, ["docs/phases/second.md:2 bad-id"]),
        ({ONE: FIRST.replace("done", "active")},
         ["AGENDA.md:11 box", "docs/phases/second.md:3 several-active", "docs/phases/second.md:4 waits"]),
        ({ONE: FIRST.replace("[x]", "[ ]")}, ["docs/phases/first.md:12 open-step"]),
        ({ONE: FIRST.replace("STATUS: done", "STATUS: done\nDEPENDS: phase.second")},
         ["docs/phases/first.md:4 cycle", "docs/phases/second.md:4 cycle"]),
        ({TWO: SECOND.replace("phase.first", "phase.zero")}, ["docs/phases/second.md:4 unknown-id"]),
        ({TWO: SECOND.replace("phase.first", "agenda")}, ["docs/phases/second.md:4 unknown-id"]),
        ({ONE: LINKS.format("plan: .nexus/plans/p.json")}, ["docs/phases/first.md:5 broken-link"]),
        ({ONE: LINKS.format("plan: p")}, ["docs/phases/first.md:5 unknown-id"]),
        ({ONE: LINKS.format("run: r2")}, ["docs/phases/first.md:5 unknown-id"]),
        ({ONE: LINKS.format("task: T2")}, ["docs/phases/first.md:5 unknown-id"]),
        ({ONE: LINKS.format("phase: phase.second#nope")}, ["docs/phases/first.md:5 broken-link"]),
        ({ONE: LINKS.format("ticket: 7")}, ["docs/phases/first.md:5 link-kind"]),
        ({ONE: LINKS.format("run: r1\n  - task: T1\n  - task: other:T9\n  - url: https://x.org")}, []),
        ({ONE: b"\xff"}, ["docs/phases/first.md:1 encoding", "docs/phases/second.md:4 unknown-id"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found_where_it_stands(files: dict[str, str | bytes], expected: list[str]) -> None:
    assert told(files, ("r1",), ("T1",)) == expected


@pytest.mark.parametrize(
    ("ref", "path", "first", "last"),
    [
        ("AGENDA.md", "AGENDA.md", 1, 12),
        ("agenda#global-constraints", "AGENDA.md", 7, 8),
        ("#PHASES", "AGENDA.md", 10, 12),
        ("phase.first#write", "docs/phases/first.md", 12, 12),
        ("first#GOAL", "docs/phases/first.md", 8, 9),
        ("second", "docs/phases/second.md", 1, 16),
        ("./docs/phases/first.md#L2-L3", "docs/phases/first.md", 2, 3),
        ("readme.md#Use", "readme.md", 3, 5),
    ],
)
def test_a_slice_is_cut_by_heading_id_or_lines(ref: str, path: str, first: int, last: int) -> None:
    texts = {"AGENDA.md": AGENDA, "docs/phases/first.md": FIRST, "docs/phases/second.md": SECOND}

    found = slice_from_reference(graph(), ref)

    assert (found.path, found.first_line, found.last_line) == (path, first, last)
    if path in texts:
        assert found.text == "".join(texts[path].splitlines(keepends=True)[first - 1 : last])
        assert found.blob == blob_id(texts[path].encode(), "sha1")


@pytest.mark.parametrize("ref", ["nope", "first#nope", "first#L99", "../etc/passwd", "first#L3-L1", "readme.txt"])
def test_a_reference_to_nothing_is_not_found(ref: str) -> None:
    with pytest.raises(NotFound):
        slice_from_reference(
            graph({"readme.txt": "x"}) if ref else graph().__class__(graph().files, None, (), (), (), graph().known),
            ref,
        )


def test_a_document_that_cannot_be_read_is_not_cut() -> None:
    with pytest.raises(Invalid, match=r"AGENDA\.md:1"):
        slice_from_reference(graph({"AGENDA.md": "---\nID: a\n"}), "AGENDA.md#GOAL")
