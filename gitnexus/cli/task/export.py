"""`git nexus task export`: write the tasks as .cleo/todo.json, archived ones as todo-archive.json beside it."""

from typing import TYPE_CHECKING

import click

from gitnexus.backlog.exporting import export_to_cleo, render_todo_file
from gitnexus.base.text import one_line
from gitnexus.cli.task.cleo_file import cleo_file_path
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("export", cls=NexusCommand)
@click.argument("path", required=False)
@click.option("--force", is_flag=True, help="Also overwrite tasks that others changed in that file.")
@with_backlog
def export_tasks(opened: "OpenBacklog", path: str | None, force: bool) -> None:
    """Export the tasks to .cleo/todo.json, and archived ones to todo-archive.json beside it.

    PATH is another file, or - for stdout. An existing file is read first, and only changed tasks differ; a file
    that cannot be parsed, or that has tasks unknown here, is left alone.
    """
    if path == "-":
        document = render_todo_file(opened.backlog, opened.project["name"])
        print_answer(lambda: {"document": document}, document.rstrip("\n"), lambda: opened.project)
        return
    file = cleo_file_path(opened, path)
    done = export_to_cleo(opened.backlog, file, opened.project["name"], force=force, own=path is None)
    names = ", ".join(one_line(str(one)) for one in done.written)
    text = f"Wrote {count_of(done.tasks, 'task')} to {names}" if names else f"{one_line(str(file))} is up to date"
    print_answer({"written": [str(one) for one in done.written], "tasks": done.tasks}, text, lambda: opened.project)
