"""`git nexus context list`: list the files."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.memory.notes import encode_text, read_text_folder
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus

_NONE = "No context yet.\nNext: write .nexus/context/NAME.md; the next command commits it."


@click.command("list", cls=NexusCommand)
@with_nexus
def list_context(nexus: "Nexus") -> None:
    """List the files."""
    found = read_text_folder(nexus.state.latest(), "context")
    rows = [[name, one_line(text.lstrip("# \n").split("\n", 1)[0], 80)] for name, text in found.items()]
    payload = {
        "context": [
            {"name": name, "path": f"context/{name}.md", "size": len(encode_text(text))} for name, text in found.items()
        ]
    }
    print_answer(payload, format_columns(rows, indent="") if rows else _NONE, nexus.described)
