"""The table of programs that git nexus can install into."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitnexus.base.errors import NotFound
from gitnexus.harness.install.context import InstallContext
from gitnexus.harness.install.model import Scope, WantedFile
from gitnexus.harness.install.programs import claude_code, clients, codex, gemini_cli, opencode


@dataclass(frozen=True, slots=True)
class HarnessProgram:
    """One program: its name, its executable, what the user must do, and what we cannot prevent it from doing."""

    id: str
    name: str
    program: str
    wants: Callable[[InstallContext], Iterator[WantedFile]] | None
    needs: str
    unprotected: tuple[str, ...]

    @property
    def has_gate(self) -> bool:
        """True if the program asks us before it uses a tool."""
        return self.id not in ("cursor", "mcp")

    def needs_at_scope(self, scope: Scope) -> str:
        """Return what the user must do at a scope; user scope needs less."""
        return _THEIRS.get(self.id, self.needs) if scope == "user" else self.needs


_BASH = "a command in a shell is judged by its text; what it starts is not seen (git nexus run has a sandbox)"
_THEIRS = {
    "claude-code": "start claude again; hooks count from the next session",
    "codex": "start codex, open /hooks and trust the hooks of git nexus; until then none runs",
    "gemini-cli": "start gemini again, and trust the folders that you work in",
}
ROWS: dict[str, HarnessProgram] = {
    row.id: row
    for row in (
        HarnessProgram(
            "claude-code",
            "Claude Code",
            "claude",
            claude_code.claude_code_files,
            "start claude once in the project and accept its MCP server; hooks count from the next session",
            (_BASH, "claude --bare, --safe-mode and --restricted run without hooks"),
        ),
        HarnessProgram(
            "codex",
            "Codex",
            "codex",
            codex.codex_files,
            "start codex, trust the project, then open /hooks and trust the hooks of git nexus; until then none runs",
            (
                _BASH,
                "a hook that times out lets the tool run",
                "roles are enforced by a read-only sandbox and by the hook; apply_patch itself cannot be removed",
            ),
        ),
        HarnessProgram(
            "gemini-cli",
            "Gemini CLI",
            "gemini",
            gemini_cli.gemini_cli_files,
            "start gemini in the project, trust the folder and take the roles; untrusted, it reads none of these files",
            (
                _BASH,
                "a hook that times out lets the tool run",
                "the hook does not learn which sub-agent calls: roles are enforced by the list of tools in their file",
            ),
        ),
        HarnessProgram(
            "opencode",
            "OpenCode",
            "opencode",
            opencode.opencode_files,
            "start opencode again; with any plugin it first fetches a package of its own; late without a network",
            (_BASH, "opencode --pure runs without plugins, and one that does not load is passed over without a word"),
        ),
        HarnessProgram(
            "cursor",
            "Cursor",
            "cursor",
            clients.cursor_files,
            "switch the server nexus on in the MCP page of the settings",
            ("no hook of ours: nothing that its agent does by itself is checked or recorded",),
        ),
        HarnessProgram(
            "mcp",
            "any MCP client",
            "",
            None,
            "start the client again",
            ("no hook of ours: nothing that its agent does by itself is checked or recorded",),
        ),
    )
}


def find_harness_program(name: str) -> HarnessProgram:
    """Return a program. Raises: NotFound."""
    if name not in ROWS:
        raise NotFound(f"there is no harness {name[:60]!r}", hint=f"there are: {', '.join(ROWS)}")
    return ROWS[name]
