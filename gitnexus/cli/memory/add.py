"""`git nexus memory add`: store TEXT as the note NAME, or extend the existing note on that topic."""

import sys
from typing import TYPE_CHECKING

import click

from gitnexus.app.notes import open_notes
from gitnexus.base.errors import BadUsage, NotFound
from gitnexus.memory.add import NoteDraft, add_note
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import answer_as_stored, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("add", cls=NexusCommand)
@click.argument("name")
@click.argument("text", required=False)
@click.option("--category", metavar="C", help="empirical, external, pattern, or one that settings.json adds.")
@click.option("--file", "source", metavar="FILE", help="Take the text from a file, or - (stdin).")
@click.option("--new", is_flag=True, help="Create a new note even if one on the same topic exists.")
@click.option("--here", is_flag=True, help="Store it as a note even if it reads like a rule or like context.")
@with_nexus
def add_memory_note(
    nexus: "Nexus", name: str, text: str | None, category: str | None, source: str | None, new: bool, here: bool
) -> None:
    """Store TEXT as the note NAME, or extend the existing note on that topic.

    NAME is the topic in two to four words with dashes. Without TEXT it is read from stdin.
    """
    if not name.strip():
        raise BadUsage("the note needs a name", hint="name the topic in two to four words with dashes")
    kept = add_note(open_notes(nexus.state), NoteDraft(_read_note_text(text, source), name, category, new, here))
    undo = f"git nexus memory restore {kept.note.name} --from {(kept.before or '')[:12]}"
    said = {
        "created": f"Stored as {kept.note.name}.",
        "extended": f"Extended {kept.note.name}: it covers the same topic.\n"
        f"Undo: {undo}  (then use --new for a separate note)",
        "known": f"{kept.note.name} says that already; nothing changed.",
    }
    payload = {"action": kept.action, "note": {"name": kept.note.name, "path": kept.note.path, "size": kept.note.size}}
    answer_as_stored(payload, said[kept.action], nexus.described)


def _read_note_text(text: str | None, source: str | None) -> str:
    if text is not None and source is not None:
        raise BadUsage("give the text or --file, not both")
    if text is not None and text != "-":
        return text
    if source is None and sys.stdin.isatty():
        click.echo("Type the note, then Ctrl-D.", err=True)
    raw: bytes
    if source in (None, "-"):
        raw = sys.stdin.buffer.read(1024 * 1024)
    else:
        path = start_folder(current_invocation(click.get_current_context())) / str(source)
        try:
            raw = path.read_bytes()
        except OSError as exc:
            raise NotFound(f"{path} cannot be read: {exc.strerror or exc}") from exc
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise BadUsage("the text is not UTF-8") from exc
