"""What a tool call would do: a table by program and tool, and nothing that raises."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.harness.calls import (
    Call,
    HarmlessCall,
    McpCall,
    NetworkCall,
    PatchCall,
    QuestionCall,
    ReadCall,
    ShellCall,
    SubagentCall,
    TextReplacement,
    UnknownCall,
    WriteCall,
    parse_tool_call,
)
from gitnexus.harness.hosts import find_hosts
from gitnexus.harness.patchform import PatchedFile, list_patched_files

PATCH = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** Delete File: /c\n*** End Patch\n"
MOVED = (PatchedFile("/repo/a.py", "update"), PatchedFile("/repo/b.py", "move"), PatchedFile("/c", "delete"))

TABLE: list[tuple[str, str, dict[str, Any], Call]] = [
    ("claude-code", "Read", {"file_path": "a.py"}, ReadCall(("/repo/a.py",))),
    ("claude-code", "Grep", {"pattern": "x", "glob": "*.env"}, ReadCall(("/repo",), ("*.env",))),
    ("claude-code", "Glob", {"pattern": ".env*", "path": "src"}, ReadCall(("/repo/src",), (".env*",))),
    ("claude-code", "Write", {"file_path": "/x/a", "content": ""}, WriteCall("/x/a", "")),
    (
        "claude-code",
        "Edit",
        {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True},
        WriteCall("/repo/a", edits=(TextReplacement("x", "y", True),)),
    ),
    (
        "claude-code",
        "MultiEdit",
        {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]},
        WriteCall("/repo/a", edits=(TextReplacement("x", "y"),)),
    ),
    ("claude-code", "NotebookEdit", {"notebook_path": "n.ipynb", "new_source": ""}, WriteCall("/repo/n.ipynb")),
    ("claude-code", "Bash", {"command": "ls"}, ShellCall("ls", "/repo")),
    ("claude-code", "Monitor", {"command": "ls"}, ShellCall("ls", "/repo")),
    ("claude-code", "PowerShell", {"command": "ls"}, ShellCall("ls", "/repo", (), "powershell")),
    ("claude-code", "WebFetch", {"url": "https://example.org/x"}, NetworkCall(("example.org:443",))),
    ("claude-code", "Agent", {"subagent_type": "architect", "prompt": "p"}, SubagentCall("architect")),
    ("claude-code", "mcp__nexus__nx_task_add", {"a": 1}, McpCall("nexus", "nx_task_add", {"a": 1})),
    ("claude-code", "mcp__plugin_p_nexus__nx_task_add", {}, McpCall("plugin_p_nexus", "nx_task_add")),
    ("claude-code", "AskUserQuestion", {"questions": []}, QuestionCall()),
    ("claude-code", "TodoWrite", {"todos": []}, HarmlessCall()),
    ("claude-code", "Bash", {"command": 1}, UnknownCall("'Bash' without command")),
    ("claude-code", "Grep", {"path": 1}, UnknownCall("'Grep' without path")),
    ("claude-code", "Frobnicate", {}, UnknownCall("'Frobnicate' is not a known tool")),
    ("codex", "Bash", {"command": "ls", "workdir": "src"}, ShellCall("ls", "/repo/src")),
    ("codex", "shell", {"command": ["bash", "-lc", "ls"]}, ShellCall("", "/repo", ("bash", "-lc", "ls"))),
    ("codex", "apply_patch", {"command": PATCH}, PatchCall(PATCH, MOVED)),
    ("codex", "apply_patch", {"command": "rm -rf"}, UnknownCall("a patch of a form that is not known here")),
    ("codex", "mcp__nexus__nx_context", {}, McpCall("nexus", "nx_context")),
    ("gemini-cli", "write_file", {"file_path": "a", "content": "x"}, WriteCall("/repo/a", "x")),
    (
        "gemini-cli",
        "replace",
        {"file_path": "a", "old_string": "x", "new_string": "y"},
        WriteCall("/repo/a", edits=(TextReplacement("x", "y"),)),
    ),
    ("gemini-cli", "run_shell_command", {"command": "ls", "dir_path": "src"}, ShellCall("ls", "/repo/src")),
    ("gemini-cli", "read_many_files", {"include": [".env"]}, ReadCall(("/repo",), (".env",))),
    ("gemini-cli", "web_fetch", {"prompt": "read https://a.b/c"}, NetworkCall(("a.b:443",))),
    ("gemini-cli", "mcp_nexus_nx_context", {}, McpCall("nexus", "nx_context")),
    ("gemini-cli", "save_memory", {"fact": "x"}, WriteCall("~/.gemini/GEMINI.md")),
    ("opencode", "write", {"filePath": "a", "content": "x"}, WriteCall("/repo/a", "x")),
    ("opencode", "apply_patch", {"patchText": PATCH}, PatchCall(PATCH, MOVED)),
    ("opencode", "bash", {"command": "ls"}, ShellCall("ls", "/repo")),
    ("opencode", "task", {"subagent_type": "tester"}, SubagentCall("tester")),
    ("opencode", "nexus_nx_context", {}, McpCall("nexus", "nx_context")),
    ("opencode", "other_tool", {}, UnknownCall("'other_tool' is not a known tool")),
    ("cursor", "Read", {}, UnknownCall("there is no program 'cursor'")),
]


@pytest.mark.parametrize(("harness", "tool", "given_", "call"), TABLE)
def test_a_call_becomes_what_it_would_do(harness: str, tool: str, given_: dict[str, Any], call: Call) -> None:
    found = parse_tool_call(harness, tool, given_, "/repo")

    assert (type(found), found) == (type(call), call)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.sampled_from(["file_path", "command", "path", "pattern", "url", "edits", "content", "patchText", "glob"])


@given(
    st.sampled_from(["claude-code", "codex", "gemini-cli", "opencode", ""]),
    st.sampled_from([row[1] for row in TABLE]) | st.text(max_size=20),
    st.dictionaries(_FIELDS | st.text(max_size=8), _JSON, max_size=5),
)
def test_no_input_raises(harness: str, tool: str, given_: dict[str, Any]) -> None:
    assert isinstance(parse_tool_call(harness, tool, given_, "/repo"), Call)


def test_a_patch_text_tells_every_file_even_where_its_headlines_are_indented() -> None:
    text = "<<'EOF'\n*** Begin Patch\n  *** Add File: x\n+*** Add File: not-a-headline\n*** delete file: .env\nEOF"

    assert list_patched_files(text) == (PatchedFile("x", "add"), PatchedFile(".env", "delete"))


@pytest.mark.parametrize("text", ["", "*** Add File: x", "*** Begin Patch\n*** Frobnicate: x", "*** Begin Patch\n"])
def test_a_patch_text_that_is_not_understood_is_none(text: str) -> None:
    assert list_patched_files(text) is None


def test_hosts_are_found_in_addresses_and_in_bare_names() -> None:
    assert find_hosts("see http://A.example:8080/x and https://b.example") == ["a.example:8080", "b.example:443"]
    assert find_hosts("c.example/x") == ["c.example:443"]
    assert find_hosts("http://[broken") == []
