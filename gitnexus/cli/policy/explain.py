"""`git nexus policy explain`: show what the gate would answer to a command or a patch, which rule decides."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.cli.policy.options import MODES
from gitnexus.cli.policy.output import format_mode
from gitnexus.gateway.explain import Asked, explained
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import format_columns, print_answer, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus

_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


@click.command("explain", cls=NexusCommand, context_settings={"allow_interspersed_args": False})
@click.option("--patch", "file", type=click.File("rb"), metavar="FILE", help="A patch to HEAD, or - (stdin).")
@click.option("--mode", type=MODES, help="As if this mode were on.")
@click.option("--role", default="", metavar="ROLE", help="As if an agent of this role asked.")
@click.option(
    "--network",
    type=click.Choice(["none", "loopback", "full"]),
    default="none",
    show_default=True,
    help="The network that the command would get.",
)
@click.option(
    "--sandbox",
    type=click.Choice(["L0", "L1", "L2", "L3"]),
    default="L1",
    show_default=True,
    help="The sandbox that it would run in.",
)
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@with_nexus
def explain_decision(nexus: "Nexus", /, file: Any, argv: tuple[str, ...], **asked: Any) -> None:
    """Show what the gate would answer to a command or a patch, which rule decides, and what would change it.

    The command follows --. Nothing is run and nothing is changed.
    """
    here = read_policy_in_force(nexus.state)
    given = Asked(argv=argv, patch=file.read() if file else None, **asked)
    answered = explained(
        nexus.repo, nexus.state, here, given, start_folder(current_invocation(click.get_current_context()))
    )
    found, mode = answered.decision, given.mode or here.compiled.mode
    payload = {**found.plain(), "kind": answered.kind, "mode": mode, "request": answered.digest}
    rows = [
        ["rule", found.rule],
        ["why", found.why],
        ["risk", f"{found.risk} of 4"],
        ["tags", ", ".join(found.tags) or "none"],
        ["mode", format_mode(mode)],
        ["to change it", found.instead or "nothing"],
    ]
    print_answer(payload, f"{_format_verdict(found.verdict)}\n{format_columns(rows)}", nexus.described)


def _format_verdict(word: str) -> str:
    return click.style(word, fg=_COLOURS[word], bold=True)
