"""Trailers are read from the raw message and put back without touching the rest."""

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.git.trailers import nexus_trailers, trailers_of_message, with_trailers

MESSAGE = "add: a thing\n\nBecause.\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\nSigned-off-by: A <a@b>\n"


def test_only_the_last_paragraph_counts() -> None:
    assert nexus_trailers(MESSAGE) == [("Nexus-Run", "r1"), ("Nexus-Approval", "nx1.a.b")]
    assert trailers_of_message("subject\n\nNexus-Run: r1\n\nbody after\n") == []
    assert trailers_of_message("Nexus-Run: r1\n") == []


def test_lost_trailers_come_back_as_the_last_paragraph() -> None:
    assert with_trailers("new subject\n", nexus_trailers(MESSAGE), "#") == (
        "new subject\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\n"
    )


def test_trailers_that_are_still_there_are_not_written_twice() -> None:
    assert with_trailers(MESSAGE, nexus_trailers(MESSAGE), "#") == MESSAGE


def test_one_lost_trailer_joins_the_others() -> None:
    text = "s\n\nNexus-Run: r1\n\n# Please enter the commit message\n#\n"

    assert with_trailers(text, nexus_trailers(MESSAGE), "#") == (
        "s\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\n\n# Please enter the commit message\n#\n"
    )


def test_what_stands_below_the_scissors_is_not_taken_for_the_message() -> None:
    scissors = "# ------------------------ >8 ------------------------\n"
    text = "s\n" + scissors + "diff\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\n"

    kept = with_trailers(text, nexus_trailers(MESSAGE), "#")

    assert kept.startswith("s\n\nNexus-Run: r1\nNexus-Approval: nx1.a.b\n\n" + scissors)


def test_an_empty_message_stays_empty_so_that_git_aborts() -> None:
    assert with_trailers("\n# comment\n", nexus_trailers(MESSAGE), "#") == "\n# comment\n"


lines = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12), max_size=6).map("\n".join)


@given(lines)
def test_keeping_twice_is_keeping_once(text: str) -> None:
    once = with_trailers(text, nexus_trailers(MESSAGE), "#")

    assert with_trailers(once, nexus_trailers(MESSAGE), "#") == once
