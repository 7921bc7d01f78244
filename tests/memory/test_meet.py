"""Notes of two clones."""

import pytest

from gitnexus.memory.meet import together
from gitnexus.state.merge import Unmergeable

BASE = b"# Deploy\n\nIt needs a key.\n\n## 2026-01-01\n\nFirst.\n"


def test_two_who_both_learned_something_on_one_day_both_keep_it() -> None:
    mine = BASE + b"\n## 2026-01-02\n\nMine.\n"
    theirs = BASE + b"\n## 2026-01-02\n\nTheirs.\n"

    assert together("memory/deploy.md", BASE, mine, theirs) == BASE + b"\n## 2026-01-02\n\nTheirs.\n\nMine.\n"


def test_sections_of_two_days_are_both_there() -> None:
    mine = BASE + b"\n## 2026-01-03\n\nMine.\n"
    theirs = BASE + b"\n## 2026-01-02\n\nTheirs.\n"

    found = together("memory/deploy.md", BASE, mine, theirs)

    assert b"Theirs." in found and b"Mine." in found and found.startswith(BASE.rstrip(b"\n"))


def test_what_both_said_alike_is_said_once() -> None:
    more = BASE + b"\n## 2026-01-02\n\nSame.\n"

    assert together("memory/deploy.md", BASE, more + b"\nMine.\n", more) == more + b"\nMine.\n"


def test_two_texts_for_one_place_are_not_guessed_together() -> None:
    with pytest.raises(Unmergeable):
        together("memory/deploy.md", BASE, BASE.replace(b"key", b"token"), BASE.replace(b"key", b"card"))
