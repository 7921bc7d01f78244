"""`git nexus harness uninstall`: remove what install added."""

from typing import Any

import click

from gitnexus.cli.harness.installation import change_installation, print_outcome, with_install_options
from gitnexus.ui.commands import NexusCommand


@click.command("uninstall", cls=NexusCommand)
@with_install_options
@click.pass_context
def uninstall_from_harness(ctx: click.Context, /, name: str, dry_run: bool, **given: Any) -> None:
    """Remove what install added: byte for byte, or only our part of a file that you changed since."""
    print_outcome(change_installation(ctx, name, dry_run, out=True, **given), dry_run, out=True)
