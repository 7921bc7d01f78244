"""`git nexus pack check`: build a pack again from its commits, and show where each piece comes from."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.pack.options import HASH_ARGUMENT
from gitnexus.cli.pack.output import pack_as_json
from gitnexus.runs.workflow.packs import find_pack, verify_pack
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("check", cls=NexusCommand)
@HASH_ARGUMENT
@with_nexus
def check_context_pack(nexus: "Nexus", name: str) -> None:
    """Build a pack again from its commits, and show where each piece comes from. A different result is an error."""
    found = find_pack(nexus.state, name)
    verify_pack(nexus.state, found)
    rows = [
        [source.blob[:12], f"{one_line(source.path, 100)}:{source.first_line}-{source.last_line}"]
        for piece in found.pieces
        for source in piece.sources
    ]
    told = f"{found.hash} is what the repository gives.\n{format_columns(rows)}"
    print_answer({"ok": True, "pack": pack_as_json(found)}, told, nexus.described)
