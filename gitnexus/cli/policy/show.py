"""`git nexus policy show`: show the rules in force, the mode, the way agents work and the sandbox."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.policy.output import format_mode, rule_as_json
from gitnexus.policy.in_force import PolicyInForce, read_policy_in_force
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("show", cls=NexusCommand)
@with_nexus
def show_policy(nexus: "Nexus") -> None:
    """Show the rules in force, the mode, the way agents work and the sandbox."""
    here = read_policy_in_force(nexus.state)
    rules = here.compiled
    payload = {
        "mode": rules.mode,
        "way": rules.way,
        "sandbox": {"level": rules.level, "minimum": rules.minimum},
        "approval": rules.approval,
        "signin": rules.signin,
        "rules": [rule_as_json(rule) for rule in rules.rules],
        "ignored": [rule_as_json(rule) for rule in here.ignored],
        "project": {"exists": here.has_project, "trusted": here.trusted},
        "budget": rules.budget.plain(),
    }
    print_answer(payload, lambda: _format_policy(here), nexus.described)


def _format_policy(here: "PolicyInForce") -> str:
    policy_rules = here.compiled
    head = [
        ["mode", format_mode(policy_rules.mode)],
        ["way", policy_rules.way],
        ["sandbox", f"{policy_rules.level}, at least {policy_rules.minimum}"],
        ["approval", policy_rules.approval],
        ["sign-in", policy_rules.signin],
        ["project policy", _describe_trust(here)],
    ]
    rows = [[rule.id, one_line(rule.shown, 100), one_line(rule.why, 60)] for rule in policy_rules.rules]
    ignored = [[rule.id, one_line(rule.shown, 100), "ignored: not trusted"] for rule in here.ignored]
    rules = format_columns(rows + ignored) if rows or ignored else "  none; whatever is not built in is asked"
    return f"{format_columns(head, indent='')}\n\nRules:\n{rules}\n\nTry one: git nexus policy explain -- git status"


def _describe_trust(here: "PolicyInForce") -> str:
    if not here.has_project:
        return "none"
    return "trusted" if here.trusted else "not trusted: only what it denies and asks about counts"
