"""The page on the threat model names each file of tests/attacks, and each test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "threat-model.md"
ATTACKS = ROOT / "tests" / "attacks"
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
NAME = re.compile(r"`((?:tests/)?[\w/]*test_\w+\.py)`")


def rows() -> list[list[str]]:
    """Return the cells of each row that is no heading; a bar inside a cell is escaped on the page."""
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    cells = [[cell.strip() for cell in line] for line in lines]
    return [row for row in cells if row[0] != "who" and set(row[0]) != {"-"}]


def test_every_file_of_attacks_is_named_on_the_page() -> None:
    named = {name for row in rows() for name in NAME.findall(row[-1])}
    assert {path.name for path in ATTACKS.glob("test_*.py")} - named == set()


def test_every_row_names_who_attacks_how_what_protects_and_a_test_that_is_there() -> None:
    assert rows()
    for row in rows():
        assert len(row) == 5, row
        who, attack, protects, _limits, tests = row
        assert who and attack and protects, row
        named = NAME.findall(tests)
        assert named, row
        for name in named:
            assert (ROOT / name if "/" in name else ATTACKS / name).is_file(), name
