"""`git nexus memory restore`: restore the note NAME as it was before it was deleted."""

from typing import TYPE_CHECKING

import click

from gitnexus.app.notes import open_notes
from gitnexus.memory.restore import restore_notes
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("restore", cls=NexusCommand)
@click.argument("name", required=False)
@click.option(
    "--from",
    "commit",
    metavar="COMMIT",
    help="A commit of the state: restore the note as of then, or all notes it deleted.",
)
@with_nexus
def restore_forgotten_notes(nexus: "Nexus", name: str | None, commit: str | None) -> None:
    """Restore the note NAME as it was before it was deleted."""
    back = restore_notes(open_notes(nexus.state), name, commit)
    text = f"Restored from {back.source[:12]}: {', '.join(back.names[:20])}{' …' if len(back.names) > 20 else ''}"
    print_answer({"restored": list(back.names), "from": back.source}, text, nexus.described)
