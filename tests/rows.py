"""Rows of a table of which the fast tests take a few, and the slow ones all others."""

from collections.abc import Iterable
from typing import Any

import pytest


def few_fast(rows: Iterable[Any], fast: int = 1) -> list[Any]:
    """Return the rows for `parametrize`, those after the first few marked as slow."""
    taken = list(rows)
    return [*taken[:fast], *map(_as_slow, taken[fast:])]


def _as_slow(row: Any) -> Any:
    values = row if isinstance(row, tuple) else (row,)
    return pytest.param(*values, marks=pytest.mark.slow)
