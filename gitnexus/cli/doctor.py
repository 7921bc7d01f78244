"""`git nexus doctor`."""

import sys

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import answer, columns, start_folder

_COLOURS = {"ok": "green", "fixed": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor", cls=NexusCommand)
@click.option("--fix", is_flag=True, help="Mend what can be mended without a decision of yours.")
@click.pass_context
def doctor(ctx: click.Context, fix: bool) -> None:
    """Check everything: state, checkout, hooks, remotes, registry, approvers, sandbox.

    Leaves with status 1 while a problem remains. Warnings do not count.
    """
    from gitnexus.app.doctor import BYPASS, examine
    from gitnexus.app.open import described
    from gitnexus.git import discover

    repo = discover(start_folder(invocation(ctx)), inherit=True)
    found = examine(repo, fix=fix)
    problems = [finding for finding in found if finding.state == "problem"]
    rows = []
    for finding in found:
        hint = f" ({finding.hint})" if finding.hint else ""
        mark = click.style(finding.state, fg=_COLOURS[finding.state])
        words = one_line(finding.words + hint, 400)
        red = finding.words == BYPASS
        rows.append([mark, finding.check, click.style(words, fg="red", bold=True) if red else words])
    answer(
        {
            "healthy": not problems,
            "findings": [
                {"check": f.check, "state": f.state, "message": f.words, **({"hint": f.hint} if f.hint else {})}
                for f in found
            ],
        },
        columns(rows, indent=""),
        lambda: described(repo),
    )
    sys.exit(1 if problems else 0)
