"""Whatever reads front matter takes the same files for having one: policy, macros, notes, documents and the hooks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.base.frontmatter import FrontMatter, UnclosedFrontMatter, locate_front_matter, render_front_matter
from gitnexus.docgraph.frontmatter import find_closing_line
from gitnexus.harness.knowledge import format_knowledge_index
from gitnexus.memory.count import rev_of_note, split_front_matter, with_rev
from gitnexus.policy.rules import parse_policy
from gitnexus.workflow.commands import parse_custom_macro

SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda raw: raw,
    "byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "CRLF": lambda raw: raw.replace(b"\n", b"\r\n"),
    "blanks after the dashes": lambda raw: raw.replace(b"---\n", b"--- \t\n"),
    "all of them": lambda raw: b"\xef\xbb\xbf" + raw.replace(b"---\n", b"---  \n").replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_every_reader_takes_the_same_files(spelled: Callable[[bytes], bytes], tmp_path: Path) -> None:
    policy = spelled(b'---\nversion: 1\ndeny:\n  - read: ["x"]\n---\nProse.\n')
    macro = spelled(b"---\nversion: 1\nabout: it looks\nnodes:\n  - {id: look, type: research}\n---\nLook.\n")
    note = spelled(b"---\nrev: 7\n---\nA note.\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a-note.md").write_bytes(note)

    assert [rule.patterns for rule in parse_policy(policy, "user").rules] == [("x",)]
    assert parse_custom_macro("look", macro).text == "Look."
    assert rev_of_note(note) == 7
    assert b"rev: 8" in split_front_matter(with_rev(note, 8))[0]
    assert find_closing_line(tuple(note.decode().splitlines(keepends=True))) == 3
    assert "A note." in format_knowledge_index(str(tmp_path))


def test_what_is_not_closed_is_no_front_matter() -> None:
    raw = b"---\nversion: 1\n"

    assert split_front_matter(raw) == (b"", raw)
    with pytest.raises(UnclosedFrontMatter):
        locate_front_matter(raw)
    with pytest.raises(Invalid, match="does not end"):
        parse_policy(raw, "user")
    with pytest.raises(Invalid, match="should begin with a front matter"):
        parse_custom_macro("look", raw)


@pytest.mark.parametrize("raw", [b"", b"text", b" ---\na: 1\n---\n", b"----\n", b"\n---\n---\n"])
def test_only_the_top_of_a_file_has_front_matter(raw: bytes) -> None:
    assert locate_front_matter(raw) is None


def test_three_dots_close_it_only_where_they_may() -> None:
    raw = b"---\na: 1\n...\ntext\n---\n"

    assert locate_front_matter(raw, dots=True) == FrontMatter(4, 9, 13)
    assert locate_front_matter(raw) == FrontMatter(4, 18, 22)
    assert locate_front_matter(b"---\n---\n") == FrontMatter(4, 4, 8)


def test_what_is_written_is_found() -> None:
    raw = render_front_matter(["a: 1", "b: 2"]).encode() + b"text"

    place = locate_front_matter(raw)

    assert place is not None
    assert (raw[place.start : place.end], raw[place.text :]) == (b"a: 1\nb: 2\n", b"text")
