"""The programs that we install for, a table written by hand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitnexus.base.errors import NotFound
from gitnexus.harness.install.kit import Kit
from gitnexus.harness.install.model import Scope, Want
from gitnexus.harness.install.programs import claude_code, clients, codex, gemini_cli, opencode


@dataclass(frozen=True, slots=True)
class Row:
    """One program: its name, what starts it, what it needs of the person, and what we cannot keep it from."""

    id: str
    name: str
    program: str
    wants: Callable[[Kit], Iterator[Want]] | None
    needs: str
    unprotected: tuple[str, ...]

    @property
    def has_gate(self) -> bool:
        """True if the program asks us before it uses a tool."""
        return self.id not in ("cursor", "mcp")

    def needs_at(self, scope: Scope) -> str:
        """Return what the program needs of the person at a scope: of what is theirs it asks less."""
        return _THEIRS.get(self.id, self.needs) if scope == "user" else self.needs


_BASH = "a command in a shell is judged by its text; what it starts is not seen (git nexus run has a sandbox)"
_THEIRS = {
    "claude-code": "start claude again; hooks count from the next session",
    "codex": "start codex, open /hooks and trust the hooks of git nexus; until then none runs",
    "gemini-cli": "start gemini again, and trust the folders that you work in",
}
ROWS: dict[str, Row] = {
    row.id: row
    for row in (
        Row(
            "claude-code",
            "Claude Code",
            "claude",
            claude_code.wants,
            "start claude once in the project and accept its MCP server; hooks count from the next session",
            (_BASH, "claude --bare, --safe-mode and --restricted run without hooks"),
        ),
        Row(
            "codex",
            "Codex",
            "codex",
            codex.wants,
            "start codex, trust the project, then open /hooks and trust the hooks of git nexus; until then none runs",
            (
                _BASH,
                "a hook that runs into its time-out lets the tool run",
                "roles are held by a sandbox that only reads, and by the hook; apply_patch itself cannot be taken away",
            ),
        ),
        Row(
            "gemini-cli",
            "Gemini CLI",
            "gemini",
            gemini_cli.wants,
            "start gemini in the project, trust the folder and take the roles; untrusted, it reads none of these files",
            (
                _BASH,
                "a hook that runs into its time-out lets the tool run",
                "the hook is not told which sub-agent calls: roles are held by the list of tools in their file",
            ),
        ),
        Row(
            "opencode",
            "OpenCode",
            "opencode",
            opencode.wants,
            "start opencode again; with any plugin it first fetches a package of its own; late without a network",
            (_BASH, "opencode --pure runs without plugins, and one that does not load is passed over without a word"),
        ),
        Row(
            "cursor",
            "Cursor",
            "cursor",
            clients.cursor,
            "switch the server nexus on in the MCP page of the settings",
            ("no hook of ours: nothing that its agent does by itself is judged or written down",),
        ),
        Row(
            "mcp",
            "any MCP client",
            "",
            None,
            "start the client again",
            ("no hook of ours: nothing that its agent does by itself is judged or written down",),
        ),
    )
}


def row_named(name: str) -> Row:
    """Return a program. Raises: NotFound."""
    if name not in ROWS:
        raise NotFound(f"there is no harness {name[:60]!r}", hint=f"there are: {', '.join(ROWS)}")
    return ROWS[name]
