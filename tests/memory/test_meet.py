"""Notes of two clones, and what they count."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.memory.count import accept_note_edit, rev_of_note, with_next_rev, with_rev, without_rev
from gitnexus.memory.merge_clones import MergedNote, merge_note_versions
from tests.conftest import Nexus
from tests.sync.conftest import ada, bob, hub
from tests.sync.two import Clone

__all__ = ["ada", "bob", "hub"]
BASE = b"# Deploy\n\nIt needs a key.\n\n## 2026-01-01\n\nFirst.\n"
NOTE = "memory/deploy.md"


def both(mine: bytes, theirs: bytes, base: bytes = BASE) -> MergedNote:
    found = merge_note_versions(NOTE, base, mine, theirs)
    assert found == merge_note_versions(NOTE, base, theirs, mine)  # whoever asks
    return found


def test_two_who_both_learned_something_on_one_day_both_keep_it() -> None:
    mine = BASE + b"\n## 2026-01-02\n\nMine.\n\nAnd more.\n"
    theirs = BASE + b"\n## 2026-01-02\n\nTheirs.\n"

    assert both(mine, theirs) == MergedNote(BASE + b"\n## 2026-01-02\n\nMine.\n\nAnd more.\n\nTheirs.\n")


def test_sections_of_two_days_are_both_there_the_earlier_first() -> None:
    mine = BASE + b"\n## 2026-01-03\n\nMine.\n"
    theirs = BASE + b"\n## 2026-01-02\n\nTheirs.\n"

    assert both(mine, theirs) == MergedNote(BASE + b"\n## 2026-01-02\n\nTheirs.\n\n## 2026-01-03\n\nMine.\n")


def test_what_both_said_alike_is_said_once() -> None:
    more = BASE + b"\n## 2026-01-02\n\nSame.\n"

    assert both(more + b"\nMine.\n", more) == MergedNote(more + b"\nMine.\n")


def test_of_two_texts_for_one_section_the_later_has_the_place_and_the_other_lies_beside() -> None:
    early = with_next_rev(BASE, BASE.replace(b"key", b"token"))
    late = with_next_rev(early, BASE.replace(b"key", b"card").replace(b"First", b"Second"))

    found = both(early + b"\n## 2026-01-02\n\nNew.\n", late)

    text = BASE.replace(b"key", b"card").replace(b"First", b"Second") + b"\n## 2026-01-02\n\nNew.\n"
    assert found == MergedNote(
        with_rev(text, 2), early + b"\n## 2026-01-02\n\nNew.\n", "both sides changed the beginning"
    )


def test_a_section_that_one_took_out_and_the_other_changed_is_in_one_of_the_two_notes() -> None:
    without, changed = b"# Deploy\n\nIt needs a key.\n", BASE.replace(b"First", b"Second")

    assert both(with_next_rev(BASE, without), changed) == MergedNote(
        with_rev(without, 1), changed, "both sides changed 2026-01-01"
    )
    assert both(without, with_next_rev(BASE, changed)) == MergedNote(
        with_next_rev(BASE, changed), without, "both sides changed 2026-01-01"
    )


@pytest.mark.parametrize(
    ("mine", "theirs", "found"),
    [
        (b"owner: a\n", b"tags: [x]\n", b"owner: a\ntags: [x]\n"),
        (b"owner: a\nrev: 3\n", b"owner: b\nrev: 9\n", b"rev: 9\nowner: b\n"),
        (b"owner: a\nrev: 9\n", b"owner: b\nrev: 3\n", b"rev: 9\nowner: a\n"),
        (b"tags: [x, y]\nrev: 2\n", b"rev: 1\ntags: [z, x]\n", b"rev: 2\ntags: [x, y, z]\n"),
        (b"tags:\n  - x\n", b"tags:\n- y\n", b"tags:\n  - x\n  - y\n"),
        (b"tags: [x]\n", b"rev: 2\n", b"rev: 2\ntags: [x]\n"),
    ],
)
def test_front_matter_merges_field_by_field_by_the_count_and_lists_as_sets(
    mine: bytes, theirs: bytes, found: bytes
) -> None:
    sides = [b"---\n" + front + b"---\n" + BASE for front in (mine, theirs, found)]

    assert both(sides[0], sides[1]) == MergedNote(sides[2])


def test_an_item_that_one_side_took_out_of_a_list_is_out() -> None:
    base, mine, theirs, found = (
        b"---\ntags: [%s]\n---\n%s" % (tags, BASE) for tags in (b"a, b", b"b, c", b"a, b, d", b"b, c, d")
    )

    assert both(mine, theirs, base) == MergedNote(found)


@pytest.mark.parametrize(
    ("text", "counted_text"),
    [
        (b"# A\n", b"---\nrev: 1\n---\n# A\n"),
        (b"---\nrev: 41\n---\n# A\n", b"---\nrev: 42\n---\n# A\n"),
        (b"---\nowner: me\n---\n\n# A\n", b"---\nrev: 1\nowner: me\n---\n\n# A\n"),
        (b"---\r\nowner: me\r\n---\r\n# A\r\n", b"---\r\nrev: 1\r\nowner: me\r\n---\r\n# A\r\n"),
        (b"---\n\n---\n# A\n", b"---\nrev: 1\n\n---\n# A\n"),
        (b"---\nA rule, and a text.\n---\n", b"---\nrev: 1\n---\n---\nA rule, and a text.\n---\n"),
        (b"---\nnever closed\n", b"---\nrev: 1\n---\n---\nnever closed\n"),
        (b"---\nrev: mine\n---\n# A\n", b"---\nrev: mine\n---\n# A\n"),
        (b"", b"---\nrev: 1\n---\n"),
    ],
)
def test_a_note_is_counted_in_its_front_matter_and_is_otherwise_as_it_was(text: bytes, counted_text: bytes) -> None:
    found = with_next_rev(text, text)

    assert found == counted_text
    assert without_rev(found) == without_rev(text)
    assert rev_of_note(found) in (rev_of_note(text) + 1, 0)


def test_an_edit_counts_beyond_what_was_there_and_a_new_note_is_as_it_was_written() -> None:
    assert accept_note_edit(NOTE, b"new\n", b"---\nrev: 7\n---\nold\n") == b"---\nrev: 8\n---\nnew\n"
    assert accept_note_edit(NOTE, b"---\nrev: 9\n---\nnew\n", b"old\n") == b"---\nrev: 10\n---\nnew\n"
    assert accept_note_edit(NOTE, b"new\n", None) == b"new\n"
    assert accept_note_edit(NOTE, None, b"old\n") is None


_TEXTS = st.lists(st.sampled_from(["It needs a key.", "It needs a card.", "Both.", ""]), min_size=1, max_size=2)


@st.composite
def written(draw: st.DrawFn) -> bytes:
    parts = ["# Deploy\n\n" + "\n\n".join(draw(_TEXTS))]
    parts += [f"## {day}\n\n" + "\n\n".join(draw(_TEXTS)) for day in draw(st.sets(st.sampled_from("123")))]
    front = draw(st.sampled_from(["", "---\nowner: a\n---\n", "---\nowner: b\ntags: [x]\n---\n"]))
    return with_rev((front + "\n\n".join(parts) + "\n").encode(), draw(st.integers(0, 3)))


@given(written(), written(), written())
def test_two_notes_become_the_same_whoever_meets_whom_and_meeting_again_changes_nothing(
    base: bytes, mine: bytes, theirs: bytes
) -> None:
    found = both(mine, theirs, base)

    assert merge_note_versions(NOTE, base, found.text, found.text) == MergedNote(found.text)
    assert merge_note_versions(NOTE, base, mine, mine) == MergedNote(mine)
    assert rev_of_note(found.text) == max(rev_of_note(mine), rev_of_note(theirs))
    everything = found.text + (found.beside or b"")
    for line in {*mine.splitlines(), *theirs.splitlines()} - {*base.splitlines()}:
        assert line in everything or line.startswith((b"rev:", b"owner:", b"tags:"))


@pytest.mark.slow
def test_what_both_wrote_in_one_section_is_kept_twice_and_the_doctor_names_it(ada: Clone, bob: Clone) -> None:
    ada.write({NOTE: BASE})
    ada.sync()
    bob.sync()
    (ada.place / ".nexus" / NOTE).write_bytes(BASE.replace(b"key", b"token"))
    for word in (b"stick", b"card"):
        (bob.place / ".nexus" / NOTE).write_bytes(BASE.replace(b"key", word))
        Nexus(bob.place).ok("memory", "list")  # any command notices it
    ada.sync()

    done = bob.sync()
    ada.sync()

    assert ada.tree == bob.tree
    assert bob.read(NOTE) == with_rev(BASE.replace(b"key", b"card"), 2)
    assert [bob.read(path) for path in done.beside] == [with_rev(BASE.replace(b"key", b"token"), 1)]
    assert f".nexus/{done.beside[0]} is another clone's version" in Nexus(bob.place)("doctor").stdout
    assert Nexus(bob.place).ok("memory", "show", "deploy").startswith("# Deploy\n")


def test_an_extension_counts_and_is_shown_without_its_count(project: Path, nexus: Nexus) -> None:
    nexus.ok("memory", "add", "empirical-kafka", "It takes 3 s.")
    nexus.ok("memory", "add", "empirical-kafka", "With 12 partitions.")

    assert (project / ".nexus/memory/empirical-kafka.md").read_bytes().startswith(b"---\nrev: 1\n---\n# Kafka\n")
    assert "rev" not in nexus.ok("memory", "show", "empirical-kafka")
    assert "rev" not in nexus.ok("memory", "prime")
