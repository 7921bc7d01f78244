"""What a program's tool call would do, in one vocabulary for all programs: pure, and only as sure as the call is.

`call_of("claude-code", "Edit", {"file_path": "a.py", …}, "/repo")` is `Writes("/repo/a.py", …)`. The answers:

- `Reads`: files or folders, and patterns of names below them;
- `Writes`: one file, with its whole new content, or with edits of what is there;
- `Patched`: files by the `*** Begin Patch` form;
- `Shell`: a text for a shell, or a list of words if the program has one; nobody has looked into it yet. `typed` is true
  for what is typed into a command that runs already: a shell perhaps, perhaps something else;
- `Mcp`: a tool of a server; `Subagent`: another agent by its role; `Network`: hosts by name and port;
- `Question`: the program asks its person; `Harmless`: nothing outside of the program itself happens;
- `Unknown`: a tool that is in no table, or one whose input is not as it should be. It is to be asked about.

Paths are joined to the folder of the call and else left as they are spelled: what links make of them is not known here.
One that begins with `~` stays as it is.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gitnexus.harness.patchform import Touched, touched


# Named tuples: `dataclasses` alone would take a third of the time that a hook has.
class Reads(NamedTuple):
    """`paths` are files or folders; `patterns` what is looked for by name in them."""

    paths: tuple[str, ...]
    patterns: tuple[str, ...] = ()


class Edit(NamedTuple):
    """One text put in place of another, at its only place or everywhere."""

    old: str
    new: str
    everywhere: bool = False


class Writes(NamedTuple):
    """One file: `content` is all that it will hold, None where only `edits` are told, or not even those."""

    path: str
    content: str | None = None
    edits: tuple[Edit, ...] = ()


class Patched(NamedTuple):
    """Several files, by a text that the program applies itself; their paths are joined to the folder."""

    text: str
    files: tuple[Touched, ...]


class Shell(NamedTuple):
    """A text for a shell, or `argv` where the program hands over words. `dialect` is sh or powershell."""

    text: str
    cwd: str
    argv: tuple[str, ...] = ()
    dialect: str = "sh"
    typed: bool = False


class Mcp(NamedTuple):
    """A tool of an MCP server, by the names that the server has in the program."""

    server: str
    tool: str
    given: Mapping[str, Any] = MappingProxyType({})


class Subagent(NamedTuple):
    """Another agent is started or taken up again; `role` is empty where that is not told."""

    role: str


class Network(NamedTuple):
    """Hosts as name:port."""

    hosts: tuple[str, ...]


class Question(NamedTuple):
    """The program asks its person something."""


class Harmless(NamedTuple):
    """Lists, plans and modes of the program itself."""


class Unknown(NamedTuple):
    """Nobody knows what it would do."""

    why: str


Call = Reads | Writes | Patched | Shell | Mcp | Subagent | Network | Question | Harmless | Unknown


def call_of(harness: str, tool: str, given: Mapping[str, Any], cwd: str) -> Call:
    """Return what a tool call would do. Never raises for what a program says."""
    shelf = _TOOLS.get(harness)
    if shelf is None:
        return Unknown(f"there is no program {harness[:60]!r}")
    try:
        made = shelf.get(tool)
        if made is not None:
            return made(_Input(given, cwd))
        server = _server_of(harness, tool)
        return Mcp(*server, given) if server else Unknown(f"{tool[:60]!r} is no tool that is known here")
    except _Missing as exc:
        return Unknown(f"{tool[:60]!r} without {exc}")


class _Missing(Exception):
    """A field of the input is not there, or of another type."""


class _Input(NamedTuple):
    given: Mapping[str, Any]
    cwd: str

    def text(self, *names: str) -> str:
        """Return the one of these fields that is text; empty text counts. Which of two a program obeys is not told."""
        found = dict.fromkeys(value for name in names if isinstance(value := self.given.get(name), str))
        filled = [value for value in found if value]
        if not found or len(filled) > 1:
            raise _Missing(names[0] if not found else f"one {names[0]} alone")
        return (filled or list(found))[0]

    def perhaps(self, *names: str) -> str:
        """Return the one of these fields that is there; nothing if none is. One of another type is still no text."""
        there = [name for name in names if self.given.get(name) not in (None, "")]
        if not all(isinstance(self.given[name], str) for name in there):
            raise _Missing(there[0])
        return self.text(*there) if there else ""

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the texts and lists of texts of all these fields as one list."""
        found: list[str] = []
        for name in names:
            value = self.given.get(name)
            rows = value if isinstance(value, list) else [] if value is None else [value]
            if not all(isinstance(row, str) for row in rows):
                raise _Missing(name)
            found += rows
        return tuple(found)

    def paths(self, *names: str) -> tuple[str, ...]:
        """Return the paths of all these fields, joined to the folder."""
        return tuple(dict.fromkeys(self.joined(self.text(name)) for name in names if self.given.get(name)))

    def path(self, *names: str) -> str:
        """Return the path in the first of these fields, joined to the folder."""
        found = self.text(*names)
        if not found:
            raise _Missing(names[0])
        return self.joined(found)

    def joined(self, path: str) -> str:
        """Return a path joined to the folder, unless it begins at a home."""
        return path if path.startswith("~") else posixpath.join(self.cwd, path)


_Maker = Callable[[_Input], Call]


def _reads(*fields: str) -> _Maker:
    return lambda given: Reads(given.paths(*fields) or (given.path(*fields),))


def _searches(folder: tuple[str, ...], patterns: tuple[str, ...]) -> _Maker:
    """A search: in a folder, or in the one of the call; each field of `patterns` may hold names."""

    def made(given: _Input) -> Call:
        names = tuple(word for word in given.texts(*patterns) if word)
        return Reads(given.paths(*folder) or (given.cwd,), names)

    return made


def _whole(path: str, content: str) -> _Maker:
    return lambda given: Writes(given.path(path), given.text(content))


def _edited(path: str, old: str, new: str, everywhere: str) -> _Maker:
    def made(given: _Input) -> Call:
        edit = Edit(given.text(old), given.text(new), given.given.get(everywhere) is True)
        return Writes(given.path(path), edits=(edit,))

    return made


def _many_edits(given: _Input) -> Call:
    rows = given.given.get("edits")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise _Missing("edits")
    inputs = [_Input(row, given.cwd) for row in rows]
    edits = (Edit(one.text("old_string", "oldString"), one.text("new_string", "newString")) for one in inputs)
    return Writes(given.path("file_path", "filePath"), edits=tuple(edits))


def _patched(*fields: str) -> _Maker:
    def made(given: _Input) -> Call:
        text = given.text(*fields)
        found = touched(text)
        if found is None:
            return Unknown("a patch of a form that is not known here")
        return Patched(text, tuple(Touched(given.joined(row.path), row.what) for row in found))

    return made


def _shell(*fields: str, folder: tuple[str, ...] = (), dialect: str = "sh") -> _Maker:
    def made(given: _Input) -> Call:
        place = given.perhaps(*folder) if folder else ""
        cwd = given.joined(place) if place else given.cwd
        lists = [name for name in fields if isinstance(given.given.get(name), list) and given.given[name]]
        if lists:
            if any(given.given.get(name) for name in fields if name != lists[0]):
                raise _Missing(f"one {fields[0]} alone")
            return Shell("", cwd, given.texts(lists[0]), dialect)
        return Shell(given.text(*fields), cwd, (), dialect)

    return made


def _types(given: _Input) -> Call:
    """Input to a command that runs already. Nothing at all only asks for its output; Ctrl-C and Ctrl-D end it."""
    text = given.perhaps("chars", "input", "text")
    if not text and any(isinstance(value, (str, list, dict)) and value for value in given.given.values()):
        return Unknown("it types something into a command that runs, under a name that is not known here")
    return Shell(text, given.cwd, (), "sh", True) if text.strip("\x03\x04\r\n") else Harmless()


def _role(*fields: str) -> _Maker:
    return lambda given: Subagent(given.perhaps(*fields))


def _fetches(*fields: str) -> _Maker:
    def made(given: _Input) -> Call:
        hosts = tuple(dict.fromkeys(hosts_in(" ".join(given.texts(*fields)))))
        return Network(hosts) if hosts else Unknown("it reaches the network, and does not say where")

    return made


def _at(host: str) -> _Maker:
    """Who searches the web for the model is the provider of the model, or whom the program has chosen."""
    return lambda given: Network((host,))


def _resource(given: _Input) -> Call:
    return Mcp(given.text("server"), "resources", given.given)


def _asks(given: _Input) -> Call:
    return Question()


def _harmless(given: _Input) -> Call:
    return Harmless()


_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s<>\"'`]+", re.IGNORECASE)


def hosts_in(text: str) -> list[str]:
    """Return the hosts of all addresses in a text, as name:port; `example.org/x` counts where nothing else does."""
    from urllib.parse import urlsplit  # 5 ms, and few calls hold an address

    found = []
    for address in _ADDRESS.findall(text) or ([f"https://{text.strip()}"] if text.strip() else []):
        try:
            parts = urlsplit(address)
            port = parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower(), 0)
        except ValueError:
            continue
        if parts.hostname and not re.search(r"\s", parts.netloc):
            found.append(f"{parts.hostname}:{port}" if port else parts.hostname)
    return found


# What begins a name that a program gives to the tools of MCP servers, and the way back from it.
_CLAUDE_MCP = re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)", re.DOTALL)
# Gemini joins with one line, and servers may have one in their name: the first is taken, which is right for ours.
_GEMINI_MCP = re.compile(r"mcp_(?P<server>[^_]+)_(?P<tool>.+)", re.DOTALL)
# OpenCode has nothing before the server's name: only ours is known by it.
_OPENCODE_MCP = re.compile(r"(?P<server>nexus)_(?P<tool>.+)", re.DOTALL)
_MCP = {"claude-code": _CLAUDE_MCP, "codex": _CLAUDE_MCP, "gemini-cli": _GEMINI_MCP, "opencode": _OPENCODE_MCP}


def _server_of(harness: str, tool: str) -> tuple[str, str] | None:
    found = _MCP[harness].fullmatch(tool)
    return (found["server"], found["tool"]) if found else None


def _all(names: str, maker: _Maker) -> dict[str, _Maker]:
    return dict.fromkeys(names.split(), maker)


_TOOLS: dict[str, dict[str, _Maker]] = {
    "claude-code": {
        "Read": _reads("file_path"),
        "Edit": _edited("file_path", "old_string", "new_string", "replace_all"),
        "MultiEdit": _many_edits,
        "Write": _whole("file_path", "content"),
        "NotebookEdit": lambda given: Writes(given.path("notebook_path", "file_path")),
        "Bash": _shell("command"),
        "Monitor": _shell("command"),
        "PowerShell": _shell("command", dialect="powershell"),
        "Grep": _searches(("path",), ("glob",)),
        "Glob": _searches(("path",), ("pattern",)),
        "LS": _searches(("path",), ()),
        "LSP": _reads("filePath", "file_path"),
        "WebFetch": _fetches("url"),
        "WebSearch": _at("api.anthropic.com:443"),
        "Agent": _role("subagent_type"),
        "Task": _role("subagent_type"),
        "SendMessage": _role("subagent_type"),
        "AskUserQuestion": _asks,
        "ReadMcpResourceTool": _resource,
        **_all(
            "TodoWrite TaskCreate TaskGet TaskList TaskUpdate TaskOutput TaskStop BashOutput KillShell KillBash "
            "EnterPlanMode ExitPlanMode ToolSearch Skill SlashCommand StructuredOutput ListMcpResourcesTool "
            "WaitForMcpServers ReportFindings CronList",
            _harmless,
        ),
    },
    "codex": {
        **_all("Bash shell_command exec_command shell local_shell", _shell("command", "cmd", folder=("workdir",))),
        "write_stdin": _types,
        "apply_patch": _patched("command", "input", "patch"),
        "view_image": _reads("path"),
        "web_search": _at("api.openai.com:443"),
        **_all("spawn_agent resume_agent send_input followup_task", _role("agent_type", "role")),
        "request_user_input": _asks,
        **_all(
            "update_plan get_goal wait wait_agent close_agent list_agents list_mcp_resources "
            "list_mcp_resource_templates tool_search",
            _harmless,
        ),
    },
    "gemini-cli": {
        "read_file": _reads("file_path", "absolute_path"),
        "read_many_files": lambda given: Reads((given.cwd,), given.texts("include", "paths")),
        "write_file": _whole("file_path", "content"),
        "replace": _edited("file_path", "old_string", "new_string", "allow_multiple"),
        "run_shell_command": _shell("command", folder=("dir_path", "directory")),
        **_all("grep_search search_file_content", _searches(("dir_path", "path"), ("include_pattern", "include"))),
        "glob": _searches(("dir_path", "path"), ("pattern",)),
        "list_directory": _searches(("dir_path", "path"), ()),
        "web_fetch": _fetches("url", "prompt"),
        "google_web_search": _at("generativelanguage.googleapis.com:443"),
        "invoke_agent": _role("agent_name"),
        "ask_user": _asks,
        "save_memory": lambda given: Writes("~/.gemini/GEMINI.md"),
        **_all(
            "write_todos enter_plan_mode exit_plan_mode activate_skill get_internal_docs complete_task update_topic "
            "list_background_processes read_background_output",
            _harmless,
        ),
    },
    "opencode": {
        "read": _reads("filePath"),
        "write": _whole("filePath", "content"),
        "edit": _edited("filePath", "oldString", "newString", "replaceAll"),
        "multiedit": _many_edits,
        **_all("apply_patch patch", _patched("patchText")),
        "bash": _shell("command", folder=("workdir",)),
        "grep": _searches(("path",), ("include",)),
        "glob": _searches(("path",), ("pattern",)),
        "list": _searches(("path",), ()),
        "lsp": _reads("filePath"),
        "webfetch": _fetches("url"),
        **_all("websearch codesearch", _at("mcp.exa.ai:443")),
        "task": _role("subagent_type"),
        "question": _asks,
        **_all("todowrite todoread skill invalid plan_enter plan_exit", _harmless),
    },
}
