"""Cards as plain values, and what they look like on any width."""

import unicodedata
from dataclasses import replace

import pytest

from gitnexus.tui.layout import format_key_help, layout_card, layout_entry, wrap_words
from gitnexus.tui.model import CardLine, CardSection, ChatEntry
from gitnexus.tui.plain import format_plain_card
from tests.tui import sample

HOSTILE = "\x1b[2J\x1b[1;1H\x1b]0;owned\x07 \x9b31m \u202eevil\u202c \r\n└──\n┌ patch a9 of you: approved\u200b\b\b"


def letters(name: str) -> str:
    return "".join(key.letter for key in sample.ALL[name]().keys)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("patch", "ysprde"),
        ("command", "ysad"),
        ("handoff", "yswd"),
        ("plan-patch", "yspd"),
        ("agenda-patch", "yspd"),
        ("question", "a"),
        ("workflow", "ynjx<>b"),
        ("error", "g"),
        ("tests", ""),
    ],
)
def test_each_answer_of_the_ladder_has_one_key(name: str, keys: str) -> None:
    assert letters(name) == keys


@pytest.mark.parametrize("name", ["patch", "command", "handoff", "plan-patch", "agenda-patch", "workflow"])
def test_what_is_approved_shows_the_digest_that_is_bound(name: str) -> None:
    card = sample.ALL[name]()

    assert card.digest.startswith("sha256:")
    assert any(card.digest in line for line in format_plain_card(card))


def test_a_risky_yes_asks_for_a_word_and_a_denied_one_is_not_offered() -> None:
    from gitnexus.tui.cards import card_for_action

    denied = card_for_action(sample.card("command", verdict="deny"), "r", "a1", editable=False)

    assert {key.asks for key in sample.risky().keys if key.means == "approve"} == {
        "This is risky. Type approve to continue"
    }
    assert [key.letter for key in denied.keys] == ["d"]


def test_a_patch_is_shown_file_by_file_without_what_the_titles_say() -> None:
    card = sample.patch()

    assert [(part.title, part.path, len(part.lines)) for part in card.sections] == [
        ("src/greet.py  +2 -1  changed", "src/greet.py", 6),
        ("readme.md  +2 -0  new", "readme.md", 4),
        ("2 files, +4 -1", "", 0),
    ]


def test_a_file_that_looks_like_another_one_in_the_difference_does_not_shift_the_others() -> None:
    from gitnexus.tui.cards import card_for_action

    body = ("diff --git a/x b/x", "@@ -0,0 +1 @@", "diff --git a/y b/y", "+z")
    card = card_for_action(sample.card("patch", files=sample_files(), body=body), "r", "a1", editable=False)

    # Two parts for one file: then nobody says which belongs to what, and all of it stands in one piece.
    assert [part.title for part in card.sections] == ["x  +1 -0  new", "the difference", "1 file, +1 -0"]


def sample_files() -> tuple[object, ...]:
    from gitnexus.gateway.card import FileRow

    return (FileRow("x", "new", 1, 0),)


def test_a_command_is_shown_word_by_word() -> None:
    (words,) = sample.command().sections

    assert [line.text for line in words.lines] == [
        "  0  python3", "  1  -m", "  2  pytest", "  3  -k", "  4  greet and not slow",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [20, 37, 80, 200])
@pytest.mark.parametrize("name", list(sample.ALL))
def test_no_row_is_wider_than_the_screen(name: str, width: int) -> None:
    card = sample.ALL[name]()
    everything = frozenset(at for at, part in enumerate(card.sections) if part.folded)

    rows = layout_card(card, width, everything, focused=True)

    assert max(sum(len(span.text) for span in row) for row in rows) <= max(width, 22)


def test_text_of_an_agent_cannot_send_escapes_or_leave_its_card() -> None:
    card = replace(
        sample.question(),
        title=HOSTILE,
        rows=(CardLine(HOSTILE),),
        sections=(CardSection(HOSTILE, (CardLine(HOSTILE),)),),
    )
    entry = ChatEntry("agent", HOSTILE, "r1")

    rows = [*layout_card(card, 60), *layout_entry(entry, 60, named=True)]
    drawn = ["".join(span.text for span in row) for row in rows]

    assert [ch for line in drawn for ch in line if unicodedata.category(ch) in ("Cc", "Cf")] == []
    assert all(line[0] in "┌│┆└" for line in drawn[: len(layout_card(card, 60))])
    assert all(line.startswith("  │ r1 ") for line in drawn[len(layout_card(card, 60)) :])
    # In the line mode ours begins at the edge, what others wrote does not.
    assert [line[:7] for line in format_plain_card(card) if not line.startswith(" ")] == ["card: \\", "answer:"]


def test_folding_is_told_and_undone() -> None:
    lines = tuple(CardLine(f"+{n}", "add") for n in range(100))
    card = replace(sample.patch(), sections=(CardSection("big.txt", lines, folded=True),))

    folded, unfolded = layout_card(card, 80), layout_card(card, 80, frozenset({0}))

    assert len(unfolded) - len(folded) == 100
    assert any("(100 lines folded)" in span.text for row in folded for span in row)


def test_a_settled_card_is_one_line_without_keys() -> None:
    card = sample.settled()

    assert format_plain_card(card) == [f"patch a1 of {sample.RUN}: approved by Ada, commit 1234567890ab"]
    assert (card.waits, card.key("y"), len(layout_card(card, 120))) == (False, None, 1)


def test_keys_are_explained_with_what_they_also_allow() -> None:
    assert "s  yes, in this run (also: the like again)" in format_key_help(sample.patch()).split("\n")


def test_lines_break_between_words_and_wide_characters_are_counted() -> None:
    assert wrap_words("one two three four", 20) == ["one two three four"]
    assert wrap_words("a" * 18 + " bcdef", 20) == ["a" * 18, "bcdef"]
    assert wrap_words("漢" * 15, 20) == ["漢" * 10, "漢" * 5]


def test_marks_that_pile_up_and_joiners_are_spelled_so_that_a_text_stays_in_its_lines() -> None:
    tower, family = "a" + "\u0301" * 40, "\U0001f469\u200d\U0001f467"
    card = replace(sample.question(), title=tower, rows=(CardLine(tower), CardLine(family)))

    drawn = [
        "".join(span.text for span in row)
        for row in [*layout_card(card, 60), *layout_entry(ChatEntry("agent", tower), 60)]
    ]

    assert max(line.count("\u0301") for line in drawn) == 3
    assert "\\u0301" in "".join(drawn)
    assert "\u200d" not in "".join(drawn)
    assert wrap_words("Amélie spricht 漢字", 40) == ["Amélie spricht 漢字"]
