"""`git nexus harness install`: install into a program's files; running it again updates them after an upgrade."""

from typing import Any

import click

from gitnexus.cli.harness.installation import change_installation, print_outcome, with_install_options
from gitnexus.ui.commands import NexusCommand


@click.command("install", cls=NexusCommand)
@with_install_options
@click.pass_context
def install_into_harness(ctx: click.Context, /, name: str, dry_run: bool, **given: Any) -> None:
    """Install into a program's files; running it again updates them after an upgrade.

    All or nothing: a file that does not parse is named by line and column, and nothing is changed.
    """
    print_outcome(change_installation(ctx, name, dry_run, out=False, **given), dry_run, out=False)
