"""`git nexus harness doctor`: prove that it works."""

import sys

import click

from gitnexus.app.harness_doctor import examine_harness
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import format_columns, print_answer, start_folder

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor", cls=NexusCommand)
@click.argument("name", metavar="HARNESS")
@click.pass_context
def examine_harness_setup(ctx: click.Context, name: str) -> None:
    """Prove that it works: files, trust, the program itself, and a call that the hook must refuse.

    Exits with status 1 while a problem remains.
    """
    found = examine_harness(start_folder(current_invocation(ctx)), name)
    rows = [
        [
            click.style(finding.state, fg=_COLOURS[finding.state]),
            finding.check,
            one_line(finding.words + (f" ({finding.hint})" if finding.hint else ""), 400),
        ]
        for finding in found
    ]
    told = [
        {"check": one.check, "state": one.state, "message": one.words, **({"hint": one.hint} if one.hint else {})}
        for one in found
    ]
    healthy = all(finding.state != "problem" for finding in found)
    print_answer({"harness": name, "healthy": healthy, "findings": told}, format_columns(rows, indent=""))
    sys.exit(0 if healthy else 1)
