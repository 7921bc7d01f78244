"""`git nexus pack`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

pack = LazyGroup(
    (
        ("Commands", "build", "gitnexus.cli.pack.build:build_context_pack", "Build a pack, and print its text."),
        (
            "Commands",
            "check",
            "gitnexus.cli.pack.check:check_context_pack",
            "Build a pack again from its commits, and show where each piece comes from.",
        ),
        (
            "Commands",
            "show",
            "gitnexus.cli.pack.show:show_context_pack",
            "Print a pack that was built here, by its hash or the beginning of it.",
        ),
    ),
    name="pack",
    help="Context packs: pieces of documents, files, notes and tasks, within a budget, the same for everybody.",
)
