"""Exports the backlog into CLEO's files; refuses to overwrite unreadable files or others' changes without consent."""

from pathlib import Path
from typing import NamedTuple

from gitnexus.backlog import cleo
from gitnexus.backlog.cleo import CleoDocument, parse_cleo_document
from gitnexus.backlog.cleo_write import CleoFileVersions, refuse_losing_tasks, render_cleo_files
from gitnexus.backlog.decision import BacklogDecision
from gitnexus.backlog.importing import SEEN
from gitnexus.backlog.store import Backlog
from gitnexus.state import disk


class ExportResult(NamedTuple):
    """The files that were written (none if they were up to date), and the number of tasks."""

    written: list[Path]
    tasks: int


def export_to_cleo(
    backlog: Backlog, path: Path, project: str, *, force: bool = False, own: bool = False
) -> ExportResult:
    """Write the tasks to `path` and the archived ones to a file beside it.

    Raises: Invalid, Conflict, and writes nothing then. `own` says that these are the project's own files, which then
    count as read.
    """
    tasks = backlog.tasks()
    places = {cleo.TODO: path, cleo.ARCHIVE: path.with_name(cleo.ARCHIVE)}
    layouts = {
        name: CleoFileVersions(cleo.load_cleo_document(place), _last_seen_document(backlog, name))
        for name, place in places.items()
    }
    if not force:
        refuse_losing_tasks(tasks, list(layouts.values()), own=own)
    todo, archive = render_cleo_files(tasks, layouts[cleo.TODO], layouts[cleo.ARCHIVE], project, backlog.clock())
    made = {cleo.TODO: todo, **({cleo.ARCHIVE: archive} if archive is not None else {})}
    written = [places[name] for name, raw in made.items() if _write_if_changed(places[name], raw, layouts[name].there)]
    if own:
        beside = {f"{SEEN}/{name}": raw for name, raw in made.items()}
        backlog.change(lambda _: BacklogDecision([], f"backlog: export {len(tasks)} tasks", None, beside))
    return ExportResult(written, len(tasks))


def render_todo_file(backlog: Backlog, project: str) -> str:
    """Return the new content of `todo.json`."""
    layouts = [CleoFileVersions(None, _last_seen_document(backlog, name)) for name in (cleo.TODO, cleo.ARCHIVE)]
    return render_cleo_files(backlog.tasks(), layouts[0], layouts[1], project, backlog.clock())[0].decode()


def _last_seen_document(backlog: Backlog, name: str) -> CleoDocument | None:
    raw = backlog.beside(f"{SEEN}/{name}")
    return None if raw is None else parse_cleo_document(raw, f"backlog/{SEEN}/{name}", archive=name == cleo.ARCHIVE)


def _write_if_changed(place: Path, raw: bytes, there: CleoDocument | None) -> bool:
    """Write a file unless it has these bytes already; a link or folder with its name is not replaced."""
    if there is not None and there.raw == raw:
        return False
    with disk.open_folder(place.parent, [], make=True) as fd:
        disk.store_file(fd, place.name, raw, disk.stat_plain_file(fd, place.name))
    return True
