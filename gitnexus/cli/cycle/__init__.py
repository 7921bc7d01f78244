"""`git nexus cycle`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

cycle = LazyGroup(
    (
        (
            "Commands",
            "close",
            "gitnexus.cli.cycle.close:close_current_cycle",
            "Move plan and tasks into the history, and start an empty session.",
        ),
        ("Commands", "show", "gitnexus.cli.cycle.show:show_cycle", "Show goal, tasks and what is ready."),
    ),
    name="cycle",
    help="One cycle of work: the tasks of the plan, and its end.\n\n"
    "Tasks live in this worktree until the cycle is closed; then plan and tasks go into the history, as "
    "one commit on the state ref.",
)
