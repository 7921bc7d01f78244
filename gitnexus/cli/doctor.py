"""`git nexus doctor`: check everything: state, checkout, hooks, remotes, registry, approvers, sandbox."""

import sys

import click

from gitnexus.app.doctor import BYPASS, examine_project
from gitnexus.base.text import one_line
from gitnexus.git import discover
from gitnexus.projects.open_project import describe_project
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import format_columns, print_answer, start_folder

_COLOURS = {"ok": "green", "fixed": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor", cls=NexusCommand)
@click.option("--fix", is_flag=True, help="Repair what can be repaired without a decision of yours.")
@click.option("--secrets", is_flag=True, help="Look for secrets in every object of refs/nexus, however long it takes.")
@click.pass_context
def examine_setup(ctx: click.Context, fix: bool, secrets: bool) -> None:
    """Check everything: state, checkout, hooks, remotes, registry, approvers, sandbox.

    Exits with status 1 while a problem remains. Warnings do not count.
    """
    repo = discover(start_folder(current_invocation(ctx)), inherit=True)
    found = examine_project(repo, fix=fix, all_secrets=secrets)
    problems = [finding for finding in found if finding.state == "problem"]
    rows = []
    for finding in found:
        hint = f" ({finding.hint})" if finding.hint else ""
        mark = click.style(finding.state, fg=_COLOURS[finding.state])
        words = one_line(finding.words + hint, 400)
        red = finding.words == BYPASS
        rows.append([mark, finding.check, click.style(words, fg="red", bold=True) if red else words])
    print_answer(
        {
            "healthy": not problems,
            "findings": [
                {"check": f.check, "state": f.state, "message": f.words, **({"hint": f.hint} if f.hint else {})}
                for f in found
            ],
        },
        format_columns(rows, indent=""),
        lambda: describe_project(repo),
    )
    sys.exit(1 if problems else 0)
