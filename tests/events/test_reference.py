"""The page of events is what the table of kinds says."""

import re
from collections.abc import Mapping
from pathlib import Path

from gitnexus.events.kinds import KINDS, MEANINGS, TYPES

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "events.md").read_text(encoding="utf-8")


def fields(words: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {wanted}" for name, wanted in words.items()) or "–"


def test_every_kind_is_on_the_page_with_its_fields() -> None:
    rows = re.findall(r"^\| `\w+\.\w+` \|.*$", PAGE, re.MULTILINE)

    assert rows == [
        f"| `{name}` | {kind.says} | {fields(kind.needs)} | {fields(kind.may)} |" for name, kind in KINDS.items()
    ]


def test_every_type_is_on_the_page() -> None:
    section = PAGE.partition("## Types")[2]

    assert re.findall(r"^\| (\w+) \| (.*) \|$", section, re.MULTILINE) == list(MEANINGS.items())
    assert list(TYPES) == list(MEANINGS)
