"""`git nexus task import` and `export`: CLEO's files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import BadUsage, Failed, NotFound
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import answer, counted, start_folder

if TYPE_CHECKING:
    from gitnexus.app.backlog import OpenBacklog


@click.command("import", cls=NexusCommand)
@click.argument("path", required=False)
@click.option("--update", is_flag=True, help="Bring tasks that exist up to date.")
@with_backlog
def import_tasks(opened: "OpenBacklog", path: str | None, update: bool) -> None:
    """Take the tasks of .cleo/todo.json over, and those of todo-archive.json beside it.

    PATH is the file, or the folder that it lies in. All of it is one commit; ids, unknown fields and the order of
    fields are kept. Refused with the list if some of the tasks exist.
    """
    from gitnexus.backlog import cleo
    from gitnexus.backlog.importing import take_over

    place = _file(opened, path)
    todo, archive = cleo.load(place), cleo.load(place.with_name(cleo.ARCHIVE))
    if todo is None:
        raise NotFound(f"there is no {one_line(str(place))}", hint="name the file: git nexus task import PATH")
    done = take_over(opened.backlog, [todo, *([archive] if archive else [])], update=update)
    text = f"Imported {counted(len(done.added), 'task')} from {one_line(str(place))}"
    text += f", {len(done.updated)} brought up to date" if done.updated else ""
    text += f"\nDeleted here, and still so: {', '.join(done.deleted)}" if done.deleted else ""
    payload = {"added": done.added, "updated": done.updated, "deleted": done.deleted, "path": str(place)}
    answer(payload, text, lambda: opened.project)


@click.command("export", cls=NexusCommand)
@click.argument("path", required=False)
@click.option("--force", is_flag=True, help="Also over tasks that others changed in that file.")
@with_backlog
def export_tasks(opened: "OpenBacklog", path: str | None, force: bool) -> None:
    """Write the tasks as .cleo/todo.json, archived ones as todo-archive.json beside it.

    PATH is another file, or - for the output. What is there is loaded first and only what changed is different; a file
    that does not parse, or that holds tasks which are not known here, is left alone.
    """
    from gitnexus.backlog.exporting import as_text, write_out

    if path == "-":
        document = as_text(opened.backlog, opened.project["name"])
        answer(lambda: {"document": document}, document.rstrip("\n"), lambda: opened.project)
        return
    place = _file(opened, path)
    done = write_out(opened.backlog, place, opened.project["name"], force=force, own=path is None)
    names = ", ".join(one_line(str(one)) for one in done.written)
    text = f"Wrote {counted(done.tasks, 'task')} to {names}" if names else f"{one_line(str(place))} is up to date"
    answer({"written": [str(one) for one in done.written], "tasks": done.tasks}, text, lambda: opened.project)


def _file(opened: "OpenBacklog", path: str | None) -> Path:
    """Return the file that is meant: links in the way to it are the user's own, the file itself must be none."""
    from gitnexus.backlog import cleo

    if opened.nexus is None:
        opened.backlog.tasks()  # outside any project there are none, and that is the better answer
        raise Failed(
            "this folder is kept by CLEO and only read here", hint="git nexus init makes it a project of its own"
        )
    if path is None:
        if opened.nexus.repo.worktree is None:
            raise BadUsage("a bare repository has no .cleo folder: name a file")
        return opened.nexus.repo.worktree / cleo.FOLDER / cleo.TODO
    given = start_folder(invocation(click.get_current_context())) / expand_home(path)
    if given.is_dir():
        given = given / cleo.FOLDER / cleo.TODO if (given / cleo.FOLDER).is_dir() else given / cleo.TODO
    return given.parent.resolve() / given.name
