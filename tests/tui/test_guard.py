"""A key answers a card only if a person pressed it, having seen the card."""

from gitnexus.tui.guard import QUIET, SEEN, Guard


def test_a_key_on_a_card_that_was_looked_at_is_taken_once_it_is_quiet() -> None:
    guard = Guard().looking("a", 0.0).pressed("y", SEEN + 0.1)

    assert guard.quiet(SEEN + 0.1 + QUIET / 2) == ""
    assert guard.quiet(SEEN + 0.2 + QUIET) == "y"
    assert guard.taken().quiet(100.0) == ""


def test_a_key_that_was_on_its_way_when_the_card_came_answers_nothing() -> None:
    guard = Guard().looking("a", 10.0).pressed("y", 10.0 + SEEN / 2)

    assert guard.quiet(20.0) == ""
    assert "only just come up" in guard.refused


def test_keys_as_quick_as_a_paste_answer_nothing_also_not_the_last_of_them() -> None:
    guard, now = Guard().looking("a", 0.0), 5.0
    for letter in "yes, do it y":
        now += 0.1
        guard = guard.pressed(letter, now)

    assert guard.quiet(now + 10) == ""
    assert "as quickly as a paste" in guard.refused


def test_another_card_begins_anew() -> None:
    guard = Guard().looking("a", 0.0).pressed("y", 5.0).looking("b", 5.1)

    assert guard.quiet(50.0) == ""
    assert guard.looking("b", 9.0).since == 5.1
