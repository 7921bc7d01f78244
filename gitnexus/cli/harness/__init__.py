"""`git nexus harness`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

harness = LazyGroup(
    (
        (
            "Commands",
            "doctor",
            "gitnexus.cli.harness.doctor:examine_harness_setup",
            "Prove that it works: files, trust, the program itself, and a call that the hook must refuse.",
        ),
        (
            "Commands",
            "install",
            "gitnexus.cli.harness.install:install_into_harness",
            "Install into a program's files; running it again updates them after an upgrade.",
        ),
        (
            "Commands",
            "list",
            "gitnexus.cli.harness.list:list_harnesses",
            "List the programs, where git nexus is installed in them, and which of them are on PATH.",
        ),
        (
            "Commands",
            "status",
            "gitnexus.cli.harness.status:show_harness_status",
            "Show what is installed where, what the program wants you to confirm, and what is not protected.",
        ),
        (
            "Commands",
            "uninstall",
            "gitnexus.cli.harness.uninstall:uninstall_from_harness",
            "Remove what install added: byte for byte, or only our part of a file that you changed since.",
        ),
    ),
    name="harness",
    help="Install git nexus in the program that you work in, or remove it.\n\n"
    "For Claude Code, Codex, Gemini CLI, OpenCode, Cursor, and with mcp any other MCP client. The tools, "
    "the events, the roles, the skills and a few lines of instructions are added to the files that the "
    "program reads; what is in them stays as it is.",
)
