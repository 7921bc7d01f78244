"""A client that others wrote: the MCP inspector, on the command line."""

import json
from pathlib import Path

import pytest

from tests.slow.calls import must
from tests.slow.conftest import _path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def inspector() -> Path:
    """The inspector's program."""
    folder = _path("MCP inspector")
    return folder / ".bin" / "mcp-inspector"


def test_the_inspector_lists_and_calls_our_tools(repository: Path, inspector: Path) -> None:
    ours = [inspector, "--cli", "git-nexus", "mcp"]

    listed = json.loads(must([*ours, "--method", "tools/list"], repository))
    added = ["--method", "tools/call", "--tool-name", "nx_task_add", "--tool-arg", "title=t", "--tool-arg", "context=c"]
    answer = json.loads(must([*ours, *added], repository))
    prompts = json.loads(must([*ours, "--method", "prompts/list"], repository))

    assert "nx_plan_start" in [tool["name"] for tool in listed["tools"]]
    assert answer["structuredContent"]["task"]["id"] == 1
    assert len(prompts["prompts"]) == 4
    assert json.loads((repository / ".nexus" / "state" / "tasks.json").read_text())["tasks"][0]["title"] == "t"
