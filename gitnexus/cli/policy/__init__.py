"""`git nexus policy`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

policy = LazyGroup(
    (
        ("Commands", "add", "gitnexus.cli.policy.add:add_policy_rule", "Add a rule."),
        (
            "Commands",
            "edit",
            "gitnexus.cli.policy.edit:edit_policy",
            "Open the policy in your editor; an invalid one is refused.",
        ),
        (
            "Commands",
            "explain",
            "gitnexus.cli.policy.explain:explain_decision",
            "Show what the gate would answer to a command or a patch, which rule decides, and what would change it.",
        ),
        (
            "Commands",
            "mode",
            "gitnexus.cli.policy.mode:show_or_set_mode",
            "Show the mode, or set it in the project's policy (or with --user in yours).",
        ),
        (
            "Commands",
            "remove",
            "gitnexus.cli.policy.remove:remove_policy_rule",
            "Remove a rule by the name or number that `policy show` gives it.",
        ),
        (
            "Commands",
            "show",
            "gitnexus.cli.policy.show:show_policy",
            "Show the rules in force, the mode, the way agents work and the sandbox.",
        ),
        (
            "Commands",
            "trust",
            "gitnexus.cli.policy.trust:trust_guarded_files",
            "Sign the policy, settings, prompts and permissions between projects as they are now.",
        ),
    ),
    name="policy",
    help="What agents may do here: rules, modes, and which of them decides.\n\n"
    "Rules are in the front matter of .nexus/policy.md and of your own policy.md in $NEXUS_HOME. Deny "
    "overrides ask, ask overrides allow; what no rule covers is asked.",
)
