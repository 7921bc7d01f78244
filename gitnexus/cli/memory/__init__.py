"""`git nexus memory`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

memory = LazyGroup(
    (
        (
            "Commands",
            "add",
            "gitnexus.cli.memory.add:add_memory_note",
            "Store TEXT as the note NAME, or extend the existing note on that topic.",
        ),
        (
            "Commands",
            "gc",
            "gitnexus.cli.memory.gc:forget_unused_notes",
            "Forget notes that nobody uses, after asking, as one commit that can be undone.",
        ),
        (
            "Commands",
            "list",
            "gitnexus.cli.memory.list:list_memory",
            "List the notes; this does not count as reading them.",
        ),
        (
            "Commands",
            "log",
            "gitnexus.cli.memory.log:show_note_history",
            "Show the history of a note: created, changed, deleted, restored.",
        ),
        (
            "Commands",
            "merge",
            "gitnexus.cli.memory.merge:merge_memory_notes",
            "Merge the note OTHER into the note INTO; no text is dropped.",
        ),
        (
            "Commands",
            "prime",
            "gitnexus.cli.memory.prime:print_session_brief",
            "Print the most useful notes within a budget, fenced and labelled, for the start of a session.",
        ),
        (
            "Commands",
            "restore",
            "gitnexus.cli.memory.restore:restore_forgotten_notes",
            "Restore the note NAME as it was before it was deleted.",
        ),
        (
            "Commands",
            "search",
            "gitnexus.cli.memory.search:search_memory",
            "Find notes, rules, context and closed cycles by WORDS, best first; this does not count as reading them.",
        ),
        ("Commands", "show", "gitnexus.cli.memory.show:show_memory_note", "Read one note; the read is counted."),
        (
            "Commands",
            "stats",
            "gitnexus.cli.memory.stats:show_memory_stats",
            "Show age, size and use of every note, and what could be forgotten and why.",
        ),
    ),
    name="memory",
    help="What was learned here: notes that agents and people keep.\n\n"
    "A note is a Markdown file in .nexus/memory/. Agents use the same through the tools memory_…. "
    "Forgetting is always a commit that can be undone.",
)
