"""`git nexus bundle create`: write the state, the logs of runs and their archives into FILE."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.bundle.file import bundle_path
from gitnexus.sync.bundle import create_bundle
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("create", cls=NexusCommand)
@click.argument("file")
@click.option("--branches", is_flag=True, help="Also include the branches of runs, with the commits they are based on.")
@click.option("--basis", metavar="REMOTE", help="Leave out what that remote had when you last synced with it.")
@with_nexus
def create_bundle_file(nexus: "Nexus", /, file: str, branches: bool, basis: str | None) -> None:
    """Write the state, the logs of runs and their archives into FILE. It is a plain git bundle."""
    place = bundle_path(file)
    refs = create_bundle(nexus.state, place, branches=branches, basis=basis)
    size = place.stat().st_size
    kib = max(1, size // 1024)
    text = f"Wrote {count_of(len(refs), 'ref')} to {place}, {kib} KiB: git nexus bundle apply merges it."
    print_answer({"file": str(place), "refs": refs, "bytes": size}, text, nexus.described)
