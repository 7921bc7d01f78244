"""`git nexus plan`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

plan = LazyGroup(
    (
        ("Commands", "add", "gitnexus.cli.plan.add:add_question", "Add a question to the open plan."),
        (
            "Commands",
            "decide",
            "gitnexus.cli.plan.decide:decide_question",
            "Record what was decided on question NUMBER.",
        ),
        (
            "Commands",
            "reopen",
            "gitnexus.cli.plan.reopen:reopen_question",
            "Reopen question NUMBER: remove its decision.",
        ),
        ("Commands", "show", "gitnexus.cli.plan.show:show_plan", "Show the questions and the decisions."),
        (
            "Commands",
            "start",
            "gitnexus.cli.plan.start:start_new_plan",
            "Start a plan about TOPIC; an open plan is archived first.",
        ),
        ("Commands", "tasks", "gitnexus.cli.plan.tasks:turn_plan_into_tasks", "Turn the decisions into tasks."),
    ),
    name="plan",
    help="The open plan: its questions and what was decided.\n\n"
    "The plan lives in this worktree until the cycle is closed. Agents use the same through the tools "
    "plan_….",
)
