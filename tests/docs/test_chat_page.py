"""The page about the chat says what the program says."""

from pathlib import Path

from gitnexus.tui.slash import COMMANDS
from tests.tui import sample

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "chat.md").read_text(encoding="utf-8")


def test_every_command_stands_in_the_table_as_help_tells_it() -> None:
    rows = [line for line in PAGE.split("\n") if line.startswith("| `/") and not line.startswith("| `/`")]

    assert rows == [
        f"| `{f'/{one.name} {one.takes}'.strip()}` | {one.about} |".replace(one.takes, one.takes.replace("|", "\\|"))
        if one.takes
        else f"| `/{one.name}` | {one.about} |"
        for one in COMMANDS
    ]


def test_every_key_of_every_card_is_in_the_table_and_every_card_has_its_picture() -> None:
    letters = {key.letter for make in sample.ALL.values() for key in make().keys}

    assert [letter for letter in sorted(letters) if f"`{letter}`" not in PAGE] == []
    assert [name for name in sample.ALL if f"(chat/{name}.svg)" not in PAGE] == []
