"""Parses a program's tool call into one vocabulary for all programs. Pure; unclear calls become `UnknownCall`.

`parse_tool_call("claude-code", "Edit", {"file_path": "a.py", …}, "/repo")` is `WriteCall("/repo/a.py", …)`. Results:

- `ReadCall`: files or folders, and name patterns below them;
- `WriteCall`: one file, with its whole new content, or with edits of the current content;
- `PatchCall`: files in the `*** Begin Patch` form;
- `ShellCall`: text for a shell, or an argv if the program sends one; it is not analysed here. `typed` is true for input
  to a command that is already running, which may or may not be a shell;
- `McpCall`: a tool of a server; `SubagentCall`: another agent by its role; `NetworkCall`: hosts by name and port;
- `QuestionCall`: the program asks its user; `HarmlessCall`: nothing happens outside the program itself;
- `UnknownCall`: a tool that is not in the tables, or one with malformed input. The user has to be asked.

Paths are joined to the folder of the call and otherwise kept as spelled; links are not resolved here. A path that
begins with `~` is kept as it is.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gitnexus.harness.patchform import PatchedFile, list_patched_files


# Named tuples: `dataclasses` alone would take a third of the time that a hook has.
class ReadCall(NamedTuple):
    """Reads `paths`, files or folders; `patterns` are names searched for in them."""

    paths: tuple[str, ...]
    patterns: tuple[str, ...] = ()


class TextReplacement(NamedTuple):
    """Replaces one text by another, at its only occurrence or everywhere."""

    old: str
    new: str
    everywhere: bool = False


class WriteCall(NamedTuple):
    """Writes one file: `content` is its new text, None if only `edits` are given, or nothing."""

    path: str
    content: str | None = None
    edits: tuple[TextReplacement, ...] = ()


class PatchCall(NamedTuple):
    """Changes several files by a patch that the program applies itself; paths are joined to the folder."""

    text: str
    files: tuple[PatchedFile, ...]


class ShellCall(NamedTuple):
    """Runs text in a shell, or `argv` if the program sends a list. `dialect` is sh or powershell."""

    text: str
    cwd: str
    argv: tuple[str, ...] = ()
    dialect: str = "sh"
    typed: bool = False


class McpCall(NamedTuple):
    """Calls a tool of an MCP server, by the names that the server has in the program."""

    server: str
    tool: str
    given: Mapping[str, Any] = MappingProxyType({})


class SubagentCall(NamedTuple):
    """Starts or resumes another agent; `role` is empty if it is not given."""

    role: str


class NetworkCall(NamedTuple):
    """Contacts hosts, given as name:port."""

    hosts: tuple[str, ...]


class QuestionCall(NamedTuple):
    """The program asks its user something."""


class HarmlessCall(NamedTuple):
    """Changes only lists, plans and modes of the program itself."""


class UnknownCall(NamedTuple):
    """A call whose effect is not known."""

    why: str


Call = (
    ReadCall
    | WriteCall
    | PatchCall
    | ShellCall
    | McpCall
    | SubagentCall
    | NetworkCall
    | QuestionCall
    | HarmlessCall
    | UnknownCall
)


def parse_tool_call(harness: str, tool: str, given: Mapping[str, Any], cwd: str) -> Call:
    """Return what a tool call would do. Never raises, whatever the program sends."""
    files = _TOOLS.get(harness)
    if files is None:
        return UnknownCall(f"there is no program {harness[:60]!r}")
    try:
        made = files.get(tool)
        if made is not None:
            return made(_ToolInput(given, cwd))
        server = _split_mcp_tool(harness, tool)
        return McpCall(*server, given) if server else UnknownCall(f"{tool[:60]!r} is not a known tool")
    except _MissingField as exc:
        return UnknownCall(f"{tool[:60]!r} without {exc}")


class _MissingField(Exception):
    """A field of the input is missing or has another type."""


class _ToolInput(NamedTuple):
    given: Mapping[str, Any]
    cwd: str

    def text(self, *names: str) -> str:
        """Return the one of these fields that is text, even if empty; two texts are an error."""
        found = dict.fromkeys(value for name in names if isinstance(value := self.given.get(name), str))
        filled = [value for value in found if value]
        if not found or len(filled) > 1:
            raise _MissingField(names[0] if not found else f"one {names[0]} alone")
        return (filled or list(found))[0]

    def perhaps(self, *names: str) -> str:
        """Return the only one of these fields that is present, or nothing; a value of another type is an error."""
        there = [name for name in names if self.given.get(name) not in (None, "")]
        if not all(isinstance(self.given[name], str) for name in there):
            raise _MissingField(there[0])
        return self.text(*there) if there else ""

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the texts and lists of texts of all these fields as one list."""
        found: list[str] = []
        for name in names:
            value = self.given.get(name)
            rows = value if isinstance(value, list) else [] if value is None else [value]
            if not all(isinstance(row, str) for row in rows):
                raise _MissingField(name)
            found += rows
        return tuple(found)

    def paths(self, *names: str) -> tuple[str, ...]:
        """Return the paths of all these fields, joined to the folder."""
        return tuple(dict.fromkeys(self.joined(self.text(name)) for name in names if self.given.get(name)))

    def path(self, *names: str) -> str:
        """Return the path in the first of these fields, joined to the folder."""
        found = self.text(*names)
        if not found:
            raise _MissingField(names[0])
        return self.joined(found)

    def joined(self, path: str) -> str:
        """Return a path joined to the folder, unless it begins with `~`."""
        return path if path.startswith("~") else posixpath.join(self.cwd, path)


_Maker = Callable[[_ToolInput], Call]


def _read_parser(*fields: str) -> _Maker:
    return lambda given: ReadCall(given.paths(*fields) or (given.path(*fields),))


def _search_parser(folder: tuple[str, ...], patterns: tuple[str, ...]) -> _Maker:
    """Return a parser for a search in a folder, by default that of the call; the `patterns` fields may hold names."""

    def made(given: _ToolInput) -> Call:
        names = tuple(word for word in given.texts(*patterns) if word)
        return ReadCall(given.paths(*folder) or (given.cwd,), names)

    return made


def _write_parser(path: str, content: str) -> _Maker:
    return lambda given: WriteCall(given.path(path), given.text(content))


def _edit_parser(path: str, old: str, new: str, everywhere: str) -> _Maker:
    def made(given: _ToolInput) -> Call:
        edit = TextReplacement(given.text(old), given.text(new), given.given.get(everywhere) is True)
        return WriteCall(given.path(path), edits=(edit,))

    return made


def _parse_many_edits(given: _ToolInput) -> Call:
    rows = given.given.get("edits")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise _MissingField("edits")
    inputs = [_ToolInput(row, given.cwd) for row in rows]
    edits = (
        TextReplacement(one.text("old_string", "oldString"), one.text("new_string", "newString")) for one in inputs
    )
    return WriteCall(given.path("file_path", "filePath"), edits=tuple(edits))


def _patch_parser(*fields: str) -> _Maker:
    def made(given: _ToolInput) -> Call:
        text = given.text(*fields)
        found = list_patched_files(text)
        if found is None:
            return UnknownCall("a patch of a form that is not known here")
        return PatchCall(text, tuple(PatchedFile(given.joined(row.path), row.what) for row in found))

    return made


def _shell_parser(*fields: str, folder: tuple[str, ...] = (), dialect: str = "sh") -> _Maker:
    def made(given: _ToolInput) -> Call:
        place = given.perhaps(*folder) if folder else ""
        cwd = given.joined(place) if place else given.cwd
        lists = [name for name in fields if isinstance(given.given.get(name), list) and given.given[name]]
        if lists:
            if any(given.given.get(name) for name in fields if name != lists[0]):
                raise _MissingField(f"one {fields[0]} alone")
            return ShellCall("", cwd, given.texts(lists[0]), dialect)
        return ShellCall(given.text(*fields), cwd, (), dialect)

    return made


def _parse_typed_input(given: _ToolInput) -> Call:
    """Parse input to a running command. No input only reads its output; Ctrl-C and Ctrl-D end it.

    Enter alone accepts whatever the command asks by default.
    """
    text = given.perhaps("chars", "input", "text")
    if not text and any(isinstance(value, (str, list, dict)) and value for value in given.given.values()):
        return UnknownCall("it types something into a command that runs, under a name that is not known here")
    return ShellCall(text, given.cwd, (), "sh", True) if text.strip("\x03\x04") else HarmlessCall()


def _subagent_parser(*fields: str) -> _Maker:
    return lambda given: SubagentCall(given.perhaps(*fields))


def _fetch_parser(*fields: str) -> _Maker:
    def made(given: _ToolInput) -> Call:
        from gitnexus.harness.hosts import find_hosts  # 5 ms, and few calls hold an address

        hosts = tuple(dict.fromkeys(find_hosts(" ".join(given.texts(*fields)))))
        return NetworkCall(hosts) if hosts else UnknownCall("it reaches the network, and does not say where")

    return made


def _fixed_host_parser(host: str) -> _Maker:
    """Return a parser for a web search, which the model's provider or a service chosen by the program carries out."""
    return lambda given: NetworkCall((host,))


def _parse_mcp_resource(given: _ToolInput) -> Call:
    return McpCall(given.text("server"), "resources", given.given)


def _parse_question(given: _ToolInput) -> Call:
    return QuestionCall()


def _parse_harmless(given: _ToolInput) -> Call:
    return HarmlessCall()


# What begins a name that a program gives to the tools of MCP servers, and the way back from it. Compiled when used.
_CLAUDE_MCP = r"(?s)mcp__(?P<server>.+?)__(?P<tool>.+)"
# Gemini joins with one line, and servers may have one in their name: the first is taken, which is right for ours.
_GEMINI_MCP = r"(?s)mcp_(?P<server>[^_]+)_(?P<tool>.+)"
# OpenCode has nothing before the server's name: only ours is known by it.
_OPENCODE_MCP = r"(?s)(?P<server>nexus)_(?P<tool>.+)"
_MCP = {"claude-code": _CLAUDE_MCP, "codex": _CLAUDE_MCP, "gemini-cli": _GEMINI_MCP, "opencode": _OPENCODE_MCP}


def _split_mcp_tool(harness: str, tool: str) -> tuple[str, str] | None:
    found = re.fullmatch(_MCP[harness], tool)
    return (found["server"], found["tool"]) if found else None


def _same_parser_for(names: str, maker: _Maker) -> dict[str, _Maker]:
    return dict.fromkeys(names.split(), maker)


_TOOLS: dict[str, dict[str, _Maker]] = {
    "claude-code": {
        "Read": _read_parser("file_path"),
        "Edit": _edit_parser("file_path", "old_string", "new_string", "replace_all"),
        "MultiEdit": _parse_many_edits,
        "Write": _write_parser("file_path", "content"),
        "NotebookEdit": lambda given: WriteCall(given.path("notebook_path", "file_path")),
        "Bash": _shell_parser("command"),
        "Monitor": _shell_parser("command"),
        "PowerShell": _shell_parser("command", dialect="powershell"),
        "Grep": _search_parser(("path",), ("glob",)),
        "Glob": _search_parser(("path",), ("pattern",)),
        "LS": _search_parser(("path",), ()),
        "LSP": _read_parser("filePath", "file_path"),
        "WebFetch": _fetch_parser("url"),
        "WebSearch": _fixed_host_parser("api.anthropic.com:443"),
        "Agent": _subagent_parser("subagent_type"),
        "Task": _subagent_parser("subagent_type"),
        "SendMessage": _subagent_parser("subagent_type"),
        "AskUserQuestion": _parse_question,
        "ReadMcpResourceTool": _parse_mcp_resource,
        **_same_parser_for(
            "TodoWrite TaskCreate TaskGet TaskList TaskUpdate TaskOutput TaskStop BashOutput KillShell KillBash "
            "EnterPlanMode ExitPlanMode ToolSearch Skill SlashCommand StructuredOutput ListMcpResourcesTool "
            "WaitForMcpServers ReportFindings CronList",
            _parse_harmless,
        ),
    },
    "codex": {
        **_same_parser_for(
            "Bash shell_command exec_command shell local_shell", _shell_parser("command", "cmd", folder=("workdir",))
        ),
        "write_stdin": _parse_typed_input,
        "apply_patch": _patch_parser("command", "input", "patch"),
        "view_image": _read_parser("path"),
        "web_search": _fixed_host_parser("api.openai.com:443"),
        **_same_parser_for("spawn_agent resume_agent send_input followup_task", _subagent_parser("agent_type", "role")),
        "request_user_input": _parse_question,
        **_same_parser_for(
            "update_plan get_goal wait wait_agent close_agent list_agents list_mcp_resources "
            "list_mcp_resource_templates tool_search",
            _parse_harmless,
        ),
    },
    "gemini-cli": {
        "read_file": _read_parser("file_path", "absolute_path"),
        "read_many_files": lambda given: ReadCall((given.cwd,), given.texts("include", "paths")),
        "write_file": _write_parser("file_path", "content"),
        "replace": _edit_parser("file_path", "old_string", "new_string", "allow_multiple"),
        "run_shell_command": _shell_parser("command", folder=("dir_path", "directory")),
        **_same_parser_for(
            "grep_search search_file_content", _search_parser(("dir_path", "path"), ("include_pattern", "include"))
        ),
        "glob": _search_parser(("dir_path", "path"), ("pattern",)),
        "list_directory": _search_parser(("dir_path", "path"), ()),
        "web_fetch": _fetch_parser("url", "prompt"),
        "google_web_search": _fixed_host_parser("generativelanguage.googleapis.com:443"),
        "invoke_agent": _subagent_parser("agent_name"),
        "ask_user": _parse_question,
        "save_memory": lambda given: WriteCall("~/.gemini/GEMINI.md"),
        **_same_parser_for(
            "write_todos enter_plan_mode exit_plan_mode activate_skill get_internal_docs complete_task update_topic "
            "list_background_processes read_background_output",
            _parse_harmless,
        ),
    },
    "opencode": {
        "read": _read_parser("filePath"),
        "write": _write_parser("filePath", "content"),
        "edit": _edit_parser("filePath", "oldString", "newString", "replaceAll"),
        "multiedit": _parse_many_edits,
        **_same_parser_for("apply_patch patch", _patch_parser("patchText")),
        "bash": _shell_parser("command", folder=("workdir",)),
        "grep": _search_parser(("path",), ("include",)),
        "glob": _search_parser(("path",), ("pattern",)),
        "list": _search_parser(("path",), ()),
        "lsp": _read_parser("filePath"),
        "webfetch": _fetch_parser("url"),
        **_same_parser_for("websearch codesearch", _fixed_host_parser("mcp.exa.ai:443")),
        "task": _subagent_parser("subagent_type"),
        "question": _parse_question,
        **_same_parser_for("todowrite todoread skill invalid plan_enter plan_exit", _parse_harmless),
    },
}
