"""`git nexus context`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

context = LazyGroup(
    (
        ("Commands", "list", "gitnexus.cli.context.list:list_context", "List the files."),
        ("Commands", "show", "gitnexus.cli.context.show:show_context", "Print one file."),
    ),
    name="context",
    help="What explains the project: files in .nexus/context/, kept by people and by the skill nx-sync.",
)
