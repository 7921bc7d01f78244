"""`git nexus toolpack list`: list the project's own tools, and whether agents are offered them."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.argvtext import format_words
from gitnexus.base.text import one_line
from gitnexus.gateway.project_tools import read_project_packs
from gitnexus.gateway.toolpacks import describe_effects
from gitnexus.policy.signed import TOOLS
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, print_note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("list", cls=NexusCommand)
@with_nexus
def list_toolpacks(nexus: "Nexus") -> None:
    """List the project's own tools, and whether agents are offered them."""
    found = read_project_packs(nexus.state)
    tools = found.packs.by_name()
    if found.why_not:
        print_note(f".nexus/{TOOLS} does not count: {found.why_not}; git nexus policy trust signs it")
    rows = [{**tool.plain(), "name": name, "offered": not found.why_not} for name, tool in tools.items()]
    shown = [
        [name, one_line(tool.about, 80), one_line(format_words(tool.argv), 60), one_line(describe_effects(tool), 80)]
        for name, tool in tools.items()
    ]
    text = format_columns(shown, indent="") if shown else f"No tools; .nexus/{TOOLS} declares them."
    print_answer({"tools": rows, "whyNot": found.why_not}, text, nexus.described)
