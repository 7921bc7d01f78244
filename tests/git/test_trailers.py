"""Trailers are read from the raw message and put back without touching the rest."""

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.git.trailers import keeping, last_paragraph, ours

MESSAGE = "add: a thing\n\nBecause.\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\nSigned-off-by: A <a@b>\n"


def test_only_the_last_paragraph_counts() -> None:
    assert ours(MESSAGE) == [("Nexus-Run", "r1"), ("Nexus-Approval", "nx1.a.b")]
    assert last_paragraph("subject\n\nNexus-Run: r1\n\nbody after\n") == []
    assert last_paragraph("Nexus-Run: r1\n") == []


def test_lost_trailers_come_back_as_the_last_paragraph() -> None:
    assert keeping("new subject\n", ours(MESSAGE), "#") == ("new subject\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\n")


def test_trailers_that_are_still_there_are_not_written_twice() -> None:
    assert keeping(MESSAGE, ours(MESSAGE), "#") == MESSAGE


def test_one_lost_trailer_joins_the_others() -> None:
    text = "s\n\nNexus-Run: r1\n\n# Please enter the commit message\n#\n"

    assert keeping(text, ours(MESSAGE), "#") == (
        "s\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\n\n# Please enter the commit message\n#\n"
    )


def test_what_stands_below_the_scissors_is_not_taken_for_the_message() -> None:
    scissors = "# ------------------------ >8 ------------------------\n"
    text = "s\n" + scissors + "diff\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\n"

    kept = keeping(text, ours(MESSAGE), "#")

    assert kept.startswith("s\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\n\n" + scissors)


def test_an_empty_message_stays_empty_so_that_git_aborts() -> None:
    assert keeping("\n# comment\n", ours(MESSAGE), "#") == "\n# comment\n"


lines = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12), max_size=6).map("\n".join)


@given(lines)
def test_keeping_twice_is_keeping_once(text: str) -> None:
    once = keeping(text, ours(MESSAGE), "#")

    assert keeping(once, ours(MESSAGE), "#") == once
