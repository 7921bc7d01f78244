"""The two ways to the tools, where the other end is broken: that is a failure with words, and never a pass."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp.types import CallToolResult, TextContent

from gitnexus.base.errors import Failed
from gitnexus.conformance.mcpserver import McpTransport, parse_tool_result
from gitnexus.conformance.sandbox import FixtureSandbox, opened_sandbox
from gitnexus.conformance.toolcommand import ToolTransport
from gitnexus.conformance.transport import ToolAnswer


def result(text: str, structured: Any, *, failed: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured, is_error=failed)


def with_git(place: FixtureSandbox, script: str) -> FixtureSandbox:
    """Return the sandbox with another git than the real one."""
    folder = place.root / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    return FixtureSandbox(place.root, {**place.environment, "PATH": f"{folder}:/usr/bin:/bin"})


async def called(transport: McpTransport | ToolTransport, place: FixtureSandbox) -> ToolAnswer:
    async with transport.open(place) as caller:
        return await caller.call("plan_status", {})


def test_text_and_structured_content_that_agree_are_the_answer() -> None:
    assert parse_tool_result(result('{"active": false}', {"active": False})) == ToolAnswer(
        {"active": False}, failed=False
    )
    assert parse_tool_result(result('{"error": "No"}', {"error": "No"}, failed=True)) == ToolAnswer(
        {"error": "No"}, failed=True
    )


@pytest.mark.parametrize(
    "broken",
    [
        result("words", None),
        result('{"x": 1}', {"x": 2}),
        result('{"x": 1}', None),
        result('{"error": "No"}', {"error": "No"}),
        result('{"x": 1}', {"x": 1}, failed=True),
        result("[]", []),
        CallToolResult(content=[], structured_content={}),
        CallToolResult(content=[TextContent(type="text", text="{}")] * 2, structured_content={}),
    ],
)
def test_a_result_that_says_two_things_is_broken(broken: CallToolResult) -> None:
    assert parse_tool_result(broken).broken is not None


def test_a_server_that_does_not_start_is_a_failure_with_its_last_words() -> None:
    with opened_sandbox("any") as place, pytest.raises(Failed) as failed:
        asyncio.run(called(McpTransport(), with_git(place, "echo it is broken >&2; exit 3")))

    assert "git nexus mcp does not start" in failed.value.message
    assert "it is broken" in failed.value.message


def test_a_server_that_breaks_off_is_a_failure_too() -> None:
    async def asked_twice(place: FixtureSandbox) -> None:
        async with McpTransport().open(place) as caller:
            await caller.names()

    with opened_sandbox("any") as place, pytest.raises(Failed, match="git nexus mcp breaks off"):
        # the first answer is the last
        script = f'PATH="{place.environment["PATH"]}"; git "$@" | {{ head -n 1; kill -9 $$; }}'
        asyncio.run(asked_twice(with_git(place, script)))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo '{}'; exit 3", "an error without {'error': …}"),
        ('echo \'{"error": "No"}\'', "{'error': …} without the sign of an error"),
        ("echo Traceback >&2; exit 1", "status 1, stdout is not valid JSON"),
        ("echo '[]'", "the answer is list, not an object"),
    ],
)
def test_a_command_whose_status_and_output_disagree_is_broken(script: str, reason: str) -> None:
    with opened_sandbox("any") as place:
        answer = asyncio.run(called(ToolTransport(), with_git(place, script)))

    assert reason in (answer.broken or "")


def test_long_parameters_reach_the_command_through_stdin() -> None:
    async def written(place: FixtureSandbox) -> ToolAnswer:
        async with ToolTransport().open(place) as caller:
            return await caller.call("artifact_write", {"filename": "long.json", "content": json.dumps("x" * 300_000)})

    with opened_sandbox("any") as place:
        answer = asyncio.run(written(place))

        assert len(Path(answer.value["path"]).read_text()) == 300_002
