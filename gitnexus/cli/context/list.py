"""`git nexus context`: the notes that explain the project."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusGroup
from gitnexus.ui.output import answer, columns, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus

_NONE = "No context yet.\nNext: write .nexus/context/NAME.md; it is taken in by the next command."


@click.group("context", cls=NexusGroup)
def context() -> None:
    """What explains the project: files in .nexus/context/, kept by people and by the skill nx-sync."""


@context.command("list")
@with_nexus
def list_command(nexus: "Nexus") -> None:
    """List the files."""
    from gitnexus.memory.notes import shelf_in, written

    found = shelf_in(nexus.state.latest(), "context")
    rows = [[name, one_line(text.lstrip("# \n").split("\n", 1)[0], 80)] for name, text in found.items()]
    payload = {"context": [{"name": name, "path": f"context/{name}.md", "size": len(written(text))}
                           for name, text in found.items()]}  # fmt: skip
    answer(payload, columns(rows, indent="") if rows else _NONE, nexus.described)


@context.command("show")
@click.argument("name")
@with_nexus
def show(nexus: "Nexus", name: str) -> None:
    """Print one file."""
    from gitnexus.memory.notes import readable
    from gitnexus.memory.rules import shown

    text = shown(nexus.state.latest(), "context", name)
    answer({"name": name, "text": readable(text)}, visible(text).rstrip("\n"), nexus.described)
