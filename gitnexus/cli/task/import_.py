"""`git nexus task import`: import the tasks of .cleo/todo.json, and those of todo-archive.json beside it."""

from typing import TYPE_CHECKING

import click

from gitnexus.backlog import cleo
from gitnexus.backlog.importing import import_documents
from gitnexus.base.errors import NotFound
from gitnexus.base.text import one_line
from gitnexus.cli.task.cleo_file import cleo_file_path
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("import", cls=NexusCommand)
@click.argument("path", required=False)
@click.option("--update", is_flag=True, help="Update the tasks that already exist.")
@with_backlog
def import_tasks(opened: "OpenBacklog", path: str | None, update: bool) -> None:
    """Import the tasks of .cleo/todo.json, and those of todo-archive.json beside it.

    PATH is the file, or its folder. All of it is one commit; ids, unknown fields and the order of fields are kept.
    Refused, with the list, if some of the tasks exist. With --update, changes of the file since the last import are
    applied field by field; fields that you changed here stay, and both are listed.
    """
    file = cleo_file_path(opened, path)
    todo, archive = cleo.load_cleo_document(file), cleo.load_cleo_document(file.with_name(cleo.ARCHIVE))
    if todo is None:
        raise NotFound(f"there is no {one_line(str(file))}", hint="name the file: git nexus task import PATH")
    done = import_documents(opened.backlog, [todo, *([archive] if archive else [])], update=update)
    text = f"Imported {count_of(len(done.added), 'task')} from {one_line(str(file))}"
    text += f", {len(done.updated)} brought up to date" if done.updated else ""
    said = {
        "Taken from the file": _format_fields(done.taken),
        "Changed here, and kept": _format_fields(done.kept),
        "Deleted here, and still so": ", ".join(done.deleted),
        "Deleted in the file, and now here": ", ".join(done.gone),
        "Not understood, and left as it is": ", ".join(one_line(one, 120) for one in done.unread),
    }
    text += "".join(f"\n{words}: {what}" for words, what in said.items() if what)
    payload = {**done._asdict(), "path": str(file)}
    print_answer(payload, text, lambda: opened.project)


def _format_fields(found: dict[str, list[str]]) -> str:
    return "; ".join(f"{task} {one_line(', '.join(fields), 200)}" for task, fields in found.items())
