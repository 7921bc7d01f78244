"""`git nexus rule`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

rule = LazyGroup(
    (
        ("Commands", "add", "gitnexus.cli.rule.add:add_project_rule", "Add a rule."),
        ("Commands", "list", "gitnexus.cli.rule.list:list_rules", "List the rules by tag."),
        ("Commands", "show", "gitnexus.cli.rule.show:show_rules", "Print the whole file of a tag."),
    ),
    name="rule",
    help="Rules of the project: advice that is never forgotten, one file a tag in .nexus/rules/.",
)
