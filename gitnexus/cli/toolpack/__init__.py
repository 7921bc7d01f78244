"""`git nexus toolpack`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

toolpack = LazyGroup(
    (
        (
            "Commands",
            "check",
            "gitnexus.cli.toolpack.check:check_toolpacks",
            "Check a file of tools, by default the project's tools.json.",
        ),
        (
            "Commands",
            "list",
            "gitnexus.cli.toolpack.list:list_toolpacks",
            "List the project's own tools, and whether agents are offered them.",
        ),
    ),
    name="toolpack",
    help="The project's own tools for agents, in .nexus/tools.json: commands with typed parameters.\n\n"
    "They are offered once an approver has signed the file, and judged like any command.",
)
