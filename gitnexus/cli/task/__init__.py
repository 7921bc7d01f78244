"""`git nexus task`: the table of its verbs, strings only."""

from gitnexus.ui.commands import LazyGroup

task = LazyGroup(
    (
        ("Look", "list", "gitnexus.cli.task.list:list_tasks", "List the tasks, as a tree."),
        ("Look", "show", "gitnexus.cli.task.show:show_task", "Show a task with its subtasks and dependencies."),
        ("Look", "next", "gitnexus.cli.task.next:show_next_task", "Show what to do next, and why."),
        ("Change", "add", "gitnexus.cli.task.add:add_backlog_task", "Add a task."),
        ("Change", "update", "gitnexus.cli.task.update:update_backlog_task", "Change the fields of a task."),
        ("Change", "complete", "gitnexus.cli.task.complete:complete_backlog_task", "Complete a task."),
        ("Change", "cancel", "gitnexus.cli.task.cancel:cancel_backlog_task", "Cancel a task; it stays visible."),
        (
            "Change",
            "delete",
            "gitnexus.cli.task.delete:delete_backlog_task",
            "Delete a task; its id is not used again.",
        ),
        ("Change", "relate", "gitnexus.cli.task.relate:relate_backlog_tasks", "Relate a task to another one."),
        (
            "Change",
            "claim",
            "gitnexus.cli.task.claim:claim_backlog_task",
            "Claim a task for a limited time, or release it.",
        ),
        ("Exchange", "import", "gitnexus.cli.task.import_:import_tasks", "Import the tasks of .cleo/todo.json."),
        ("Exchange", "export", "gitnexus.cli.task.export:export_tasks", "Export the tasks to .cleo/todo.json."),
    ),
    name="task",
    help="The backlog: tasks that outlive a cycle, T1, T2 and so on, on the state ref.\n\n"
    "They have parents (three levels), labels, files, and dependencies, also on tasks of other projects (name:T12). "
    "Agents use the same through the tools backlog_….",
    subcommand_metavar="COMMAND …",
)
