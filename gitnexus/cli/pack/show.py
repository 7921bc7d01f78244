"""`git nexus pack show`: print a pack that was built here, by its hash or the beginning of it."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.pack.options import HASH_ARGUMENT
from gitnexus.cli.pack.output import print_pack
from gitnexus.runs.workflow.packs import find_pack
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("show", cls=NexusCommand)
@HASH_ARGUMENT
@with_nexus
def show_context_pack(nexus: "Nexus", name: str) -> None:
    """Print a pack that was built here, by its hash or the beginning of it."""
    print_pack(nexus, find_pack(nexus.state, name))
