"""The longest slow tests first, so that at the end no worker waits for one that began last.

A plug-in of pytest, used by `make slow`: `@pytest.mark.slow(seconds=60)` says about how long a test takes.
"""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: -seconds_of(item))


def seconds_of(item: pytest.Item) -> float:
    """Return how long a test takes by its own account, 0 where it says nothing."""
    return max((mark.kwargs.get("seconds", 0) for mark in item.iter_markers("slow")), default=0)
