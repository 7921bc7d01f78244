"""A key answers a card only if a person pressed it, having seen the card."""

from gitnexus.tui.guard import QUIET, SEEN, KeyGuard


def test_a_key_on_a_card_that_was_looked_at_is_taken_once_it_is_quiet() -> None:
    guard = KeyGuard().looking_at_card("a", 0.0).after_key_press("y", SEEN + 0.1)

    assert guard.key_to_take(SEEN + 0.1 + QUIET / 2) == ""
    assert guard.key_to_take(SEEN + 0.2 + QUIET) == "y"
    assert guard.taken().key_to_take(100.0) == ""


def test_a_key_that_was_on_its_way_when_the_card_came_answers_nothing() -> None:
    guard = KeyGuard().looking_at_card("a", 10.0).after_key_press("y", 10.0 + SEEN / 2)

    assert guard.key_to_take(20.0) == ""
    assert "only just come up" in guard.refused


def test_keys_as_quick_as_a_paste_answer_nothing_also_not_the_last_of_them() -> None:
    guard, now = KeyGuard().looking_at_card("a", 0.0), 5.0
    for letter in "yes, do it y":
        now += 0.1
        guard = guard.after_key_press(letter, now)

    assert guard.key_to_take(now + 10) == ""
    assert "as fast as a paste" in guard.refused


def test_another_card_begins_anew() -> None:
    guard = KeyGuard().looking_at_card("a", 0.0).after_key_press("y", 5.0).looking_at_card("b", 5.1)

    assert guard.key_to_take(50.0) == ""
    assert guard.looking_at_card("b", 9.0).since == 5.1
