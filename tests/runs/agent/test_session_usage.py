"""A session that is taken up is not counted again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitnexus.adapters.protocol import AgentEnd
from gitnexus.runs.agent.session_usage import tokens_before_call, usage_of_call
from gitnexus.runs.open_run import OpenRun
from tests.runs.begun import begun


@pytest.fixture
def run(project: Path) -> Iterator[OpenRun]:
    with begun(project) as found:
        yield found


def used(run: OpenRun, adapter: str, session: str, tokens: int) -> int:
    """Return the tokens of a call that takes up a session, "" for a new one, and reports that many."""
    ended = AgentEnd(ok=True, reason="completed", session="s-1", tokens_in=tokens, tokens_out=0)
    return usage_of_call(run, adapter, ended, tokens_before_call(run, adapter, session)).tokens_in


def test_a_program_that_reports_its_whole_session_is_counted_by_the_call(run: OpenRun) -> None:
    assert [used(run, "codex", "", 100), used(run, "codex", "s-1", 300), used(run, "codex", "s-1", 350)] == [
        100, 200, 50,
    ]  # fmt: skip


def test_one_that_reports_each_call_and_a_new_session_are_left_as_they_are(run: OpenRun) -> None:
    assert [used(run, "claude", "", 100), used(run, "claude", "s-1", 80)] == [100, 80]
    assert [used(run, "codex", "", 100), used(run, "codex", "", 120)] == [100, 120]
