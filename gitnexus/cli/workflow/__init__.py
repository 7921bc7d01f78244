"""`git nexus workflow`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

workflow = LazyGroup(
    (
        (
            "Commands",
            "batches",
            "gitnexus.cli.workflow.batches:show_batches",
            "Split a plan into batches, and show which of its steps are too big to run.",
        ),
        (
            "Commands",
            "check",
            "gitnexus.cli.workflow.check:check_workflows",
            "Check a workflow (.json), a macro (.md), or without FILE all macros of this project.",
        ),
        (
            "Commands",
            "list",
            "gitnexus.cli.workflow.list:list_workflows",
            "List the workflows that a prompt can begin with, as /NAME.",
        ),
        (
            "Commands",
            "schema",
            "gitnexus.cli.workflow.schema:print_schema",
            "Print the JSON Schema of a workflow; or of research, plan, plan_patch, exec.result, proposed_action.",
        ),
        (
            "Commands",
            "show",
            "gitnexus.cli.workflow.show:show_workflow",
            "Show the nodes of a workflow, and the text of one of your own.",
        ),
        (
            "Commands",
            "specialists",
            "gitnexus.cli.workflow.specialists:list_specialists",
            "Show who does the work of each node: rules, a model, or an agent; and what is missing for it.",
        ),
    ),
    name="workflow",
    help="Workflows by name: built-in ones, and your own in .nexus/commands/custom/NAME.md.",
)
