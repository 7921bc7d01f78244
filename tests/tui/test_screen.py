"""The real application, driven by keys: what a person asks, sees and decides."""

import asyncio
from pathlib import Path

from tests.conftest import run_git
from tests.tui.scene import opened


def test_a_run_is_asked_for_its_card_approved_by_a_key_and_the_commit_is_there(project: Path) -> None:
    async def talk() -> str:
        async with opened(project) as person:
            await person.asks("/run -- sh -c 'echo more >> readme.txt; echo at work'")
            await person.sees("at work")
            card = await person.answers("patch", "y")
            await person.sees("is completed, 1 commit")
            return card.run

    run = asyncio.run(talk())

    assert run_git(project, "show", f"nexus/{run}:readme.txt") == "hello\nmore\n"
    assert f"Nexus-Run: {run}" in run_git(project, "log", "-1", "--format=%B", f"nexus/{run}")
