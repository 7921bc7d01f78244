"""`git nexus harness status`: show what is installed where, what the program wants you to confirm."""

import click

from gitnexus.app.harness_install import install_statuses
from gitnexus.harness.install.programs.table import ROWS, find_harness_program
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.harness import format_install_status, install_status_as_json
from gitnexus.ui.output import print_answer, start_folder


@click.command("status", cls=NexusCommand)
@click.argument("name", metavar="HARNESS", required=False)
@click.pass_context
def show_harness_status(ctx: click.Context, name: str | None) -> None:
    """Show what is installed where, what the program wants you to confirm, and what is not protected."""
    names = [find_harness_program(name).id] if name else list(ROWS)
    found = list(install_statuses(start_folder(current_invocation(ctx)), names))
    shown = [one for one in found if one.installed or name]
    text = (
        "\n\n".join(map(format_install_status, shown))
        or "Not installed in any program. git nexus harness list shows them."
    )
    print_answer({"harnesses": [install_status_as_json(one) for one in found]}, text)
