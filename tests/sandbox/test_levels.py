"""Which level is taken, and what is said where one is missing."""

import json
import os
import sys
from pathlib import Path

import pytest

import gitnexus
from gitnexus.sandbox import levels
from gitnexus.sandbox.levels import available_levels, best_level, try_level
from gitnexus.sandbox.spec import LEVELS
from tests.sandbox.conftest import Box, need


def test_every_level_is_there_or_says_why_not() -> None:
    rows = available_levels()

    assert [row.level for row in rows] == list(LEVELS)
    assert rows[0].there
    assert all(row.there or row.why for row in rows)


def test_the_best_is_the_highest_that_is_there() -> None:
    there = [row.level for row in available_levels() if row.there]

    assert best_level() == there[-1]


def test_other_systems_have_the_lowest_level_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    try_level.cache_clear()

    rows = available_levels()
    try_level.cache_clear()

    assert [row.there for row in rows] == [True, False, False, False]
    assert rows[1].why == "only Linux has it, this is Darwin"


@pytest.mark.parametrize(
    ("name", "value", "level", "why"),
    [
        ("landlock_abi", 0, "L1", "the kernel has no Landlock"),
        ("bubblewrap_path", None, "L3", "bubblewrap (bwrap) is not installed"),
    ],
)
def test_what_is_missing_is_named(
    name: str, value: object, level: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, name, lambda: value)
    try_level.cache_clear()

    found = try_level(level)  # type: ignore[arg-type]
    try_level.cache_clear()

    assert not found.there
    assert found.why.startswith(why)


def test_where_namespaces_are_forbidden_the_level_below_is_left(python: Box) -> None:
    """A machine without user namespaces, made by the sandbox itself: it forbids them to what it runs."""
    need("L1")
    source = Path(gitnexus.__file__).parents[1]
    packages = [path for path in sys.path if path.endswith("site-packages")]
    code = f"""
import sys
sys.path += {[str(source), *packages]!r}
sys.executable = {os.path.realpath(sys.executable)!r}
import json
from gitnexus.sandbox.levels import available_levels, best_level
print(json.dumps([[row.there for row in available_levels()], best_level(), [row.why for row in available_levels()]]))
"""
    ended = python("L1", code, readable_too=(str(source), *packages))

    there, level, why = json.loads(ended.stdout.data or b"[0, 0, 0]")
    assert (there, level) == ([True, True, False, False], "L1"), ended.stderr.data
    assert "true was not run: namespaces: Operation not permitted" in why[2]
    assert why[3]
