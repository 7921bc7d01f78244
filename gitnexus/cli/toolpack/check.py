"""`git nexus toolpack check`: check a file of tools, by default the project's tools.json."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import NotFound
from gitnexus.base.text import one_line
from gitnexus.cli.workflow.files import read_given_file
from gitnexus.gateway.toolpacks import parse_tool_packs
from gitnexus.policy.signed import TOOLS
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("check", cls=NexusCommand)
@click.argument("file", metavar="[FILE]", required=False)
@with_nexus
def check_toolpacks(nexus: "Nexus", file: str | None) -> None:
    """Check a file of tools, by default the project's tools.json. Nothing is run."""
    raw = nexus.state.latest().read(TOOLS) if file is None else read_given_file(file)
    if raw is None:
        raise NotFound(f"there is no .nexus/{TOOLS}", hint="docs/how-to/add-tools-of-your-own.md shows one")
    names = sorted(parse_tool_packs(raw, f".nexus/{TOOLS}" if file is None else one_line(file, 200)).by_name())
    print_answer({"checked": names}, f"{len(names)} checked; nothing is wrong.", nexus.described)
