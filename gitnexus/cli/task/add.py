"""`git nexus task`: the table of its verbs, strings only."""

from gitnexus.ui.commands import LazyGroup

task = LazyGroup(
    (
        ("Look", "list", "gitnexus.cli.tasklook:list_tasks", "List the tasks, as a tree."),
        ("Look", "show", "gitnexus.cli.tasklook:show", "Show a task and what is around it."),
        ("Look", "next", "gitnexus.cli.tasklook:next_task", "Tell what to do next, and why."),
        ("Change", "add", "gitnexus.cli.taskchange:add", "Add a task."),
        ("Change", "update", "gitnexus.cli.taskchange:update", "Change what is said about a task."),
        ("Change", "complete", "gitnexus.cli.taskclose:complete", "Complete a task."),
        ("Change", "cancel", "gitnexus.cli.taskclose:cancel", "Give a task up; it stays in sight."),
        ("Change", "delete", "gitnexus.cli.taskclose:delete", "Delete a task; its number is not given again."),
        ("Change", "relate", "gitnexus.cli.taskchange:relate", "Tie a task to another one."),
        ("Change", "claim", "gitnexus.cli.taskclaim:claim", "Claim a task for a time, or let it go."),
        ("Exchange", "import", "gitnexus.cli.taskfiles:import_tasks", "Take the tasks of .cleo/todo.json over."),
        ("Exchange", "export", "gitnexus.cli.taskfiles:export_tasks", "Write the tasks as .cleo/todo.json."),
    ),
    name="task",
    help="The backlog: tasks that outlive a cycle, T1, T2 and so on, on the state ref.\n\n"
    "They have parents (three levels), labels, files, and dependencies, also on tasks of other projects (name:T12). "
    "Agents use the same through the tools backlog_….",
    subcommand_metavar="COMMAND …",
)
