"""`git nexus policy add`: add a rule."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import NotFound
from gitnexus.base.text import one_line
from gitnexus.cli.policy.options import USER_OPTION
from gitnexus.cli.policy.output import rule_as_json
from gitnexus.cli.policy.signing import offer_to_sign
from gitnexus.policy.in_force import add_rule
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("add", cls=NexusCommand)
@click.argument("verdict", type=click.Choice(["allow", "ask", "deny"]))
@click.option("--read", multiple=True, metavar="PATH", help="Paths that are read; only to deny.")
@click.option("--write", multiple=True, metavar="PATH", help="Paths that are written, as in 'src/**'.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Hosts that are reached, as in pypi.org:443.")
@click.option("--handoff", nargs=2, metavar="FROM TO", help="A handoff from one role to another.")
@click.option("--kind", metavar="KIND", help="Only requests of this kind.")
@click.option("--role", metavar="ROLE", help="Only requests of this role.")
@click.option("--network", type=click.Choice(["loopback", "full"]), help="What network the command may have.")
@click.option("--unconfined", is_flag=True, help="Also where there is no sandbox, as in the shell of Claude Code.")
@click.option("--name", metavar="NAME", help="A name for the rule.")
@click.option("--why", metavar="TEXT", help="Why the rule exists; shown when it decides.")
@USER_OPTION
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@with_nexus
def add_policy_rule(nexus: "Nexus", /, verdict: Any, user: bool, argv: tuple[str, ...], **words: Any) -> None:
    """Add a rule. The rest of the file stays as it is, byte for byte.

    Give a command word by word after --, with *, {path}, {int}, {name} or {text} for words that may differ.
    """
    row = {key: value for key, value in {**words, "run": argv}.items() if value}
    row = {key: list(value) if isinstance(value, tuple) else value for key, value in row.items()}
    if words["role"]:
        _check_role(nexus, words["role"], only_note=user)
    rule = add_rule(nexus.state, "user" if user else "project", verdict, row)
    offer_to_sign(nexus, rule.layer)
    print_answer({"rule": rule_as_json(rule)}, f"Added {rule.id}: {one_line(rule.shown)}", nexus.described)


def _check_role(nexus: "Nexus", role: str, *, only_note: bool) -> None:
    """Raise NotFound for an unknown role; the user's own policy may name roles of other projects, too."""
    from gitnexus.runs.steps import refuse_unknown_role  # the catalog: only for who names a role

    try:
        refuse_unknown_role(nexus.state, role)
    except NotFound as exc:
        if not only_note:
            raise
        print_note(f"{exc.message} in this project; {exc.hint}")
