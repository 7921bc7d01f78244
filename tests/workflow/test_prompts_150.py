"""A second table of prompts as people type them, with small talk and named agents: how many get what they expect."""

from pathlib import Path

import pytest

from gitnexus.workflow.routing import RoutingInputs, propose_workflow
from gitnexus.workflow.settings import WorkflowSettings
from gitnexus.workflow.small_talk import reply_to_small_talk
from tests.workflow.table import rows, told

TABLE = Path(__file__).with_name("prompts-150.tsv")
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "workflows.md"


def read_by_rules(prompt: str) -> str:
    if reply_to_small_talk(prompt):
        return "talk"
    return told(propose_workflow(prompt, RoutingInputs({}, WorkflowSettings()), model=False))


def test_the_rules_read_150_prompts_as_often_right_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    table = rows(TABLE)
    right = sum(read_by_rules(row.prompt) == row.expected for row in table)
    with capsys.disabled():
        print(f"\nthe rules read {right} of {len(table)} prompts as people mean them")

    assert len({row.prompt for row in table}) == len(table) == 150
    assert f"the rules read {right} of {len(table)} right" in " ".join(PAGE.read_text().split())
