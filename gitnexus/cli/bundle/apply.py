"""`git nexus bundle apply`: merge what FILE contains, with the same checks as git nexus sync."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.bundle.file import bundle_path
from gitnexus.sync.bundle import apply_bundle
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.ui.sync import format_sync_result, sync_result_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("apply", cls=NexusCommand)
@click.argument("file")
@click.option("--dry-run", is_flag=True, help="Show what would be merged, and change nothing.")
@click.option(
    "--adopt", is_flag=True, help="If the two were started separately: keep their project and merge yours into it."
)
@with_nexus
def apply_bundle_file(nexus: "Nexus", /, file: str, dry_run: bool, adopt: bool) -> None:
    """Merge what FILE contains, with the same checks as git nexus sync."""
    done = apply_bundle(nexus.state, bundle_path(file), dry_run=dry_run, adopt=adopt)
    done.remote = file
    print_answer(lambda: sync_result_as_json(done, dry_run), lambda: format_sync_result(done, dry_run), nexus.described)
