"""Export the backlog into CLEO's files: never over what could not first be loaded, never over others' work unasked."""

from pathlib import Path
from typing import NamedTuple

from gitnexus.backlog import cleo
from gitnexus.backlog.cleo import Document, document_in
from gitnexus.backlog.compose import Layout, exported, refuse_loss
from gitnexus.backlog.decision import Decision
from gitnexus.backlog.importing import SEEN
from gitnexus.backlog.store import Backlog
from gitnexus.state import disk


class Exported(NamedTuple):
    """The files that were written, empty where they held all that already, and how many tasks there are."""

    written: list[Path]
    tasks: int


def write_out(backlog: Backlog, path: Path, project: str, *, force: bool = False, own: bool = False) -> Exported:
    """Write the tasks to `path` and the archived ones beside it. Raises: Invalid, Conflict, and writes nothing then.

    `own` says that these are the project's own files: what was written is then what was last seen of them.
    """
    tasks = backlog.tasks()
    places = {cleo.TODO: path, cleo.ARCHIVE: path.with_name(cleo.ARCHIVE)}
    layouts = {name: Layout(cleo.load(place), _seen(backlog, name)) for name, place in places.items()}
    if not force:
        refuse_loss(tasks, list(layouts.values()))
    todo, archive = exported(tasks, layouts[cleo.TODO], layouts[cleo.ARCHIVE], project, backlog.clock())
    made = {cleo.TODO: todo, **({cleo.ARCHIVE: archive} if archive is not None else {})}
    written = [places[name] for name, raw in made.items() if _put(places[name], raw, layouts[name].there)]
    if own:
        beside = {f"{SEEN}/{name}": raw for name, raw in made.items()}
        backlog.change(lambda _: Decision([], f"backlog: export {len(tasks)} tasks", None, beside))
    return Exported(written, len(tasks))


def as_text(backlog: Backlog, project: str) -> str:
    """Return what `todo.json` would hold."""
    layouts = [Layout(None, _seen(backlog, name)) for name in (cleo.TODO, cleo.ARCHIVE)]
    return exported(backlog.tasks(), layouts[0], layouts[1], project, backlog.clock())[0].decode()


def _seen(backlog: Backlog, name: str) -> Document | None:
    raw = backlog.beside(f"{SEEN}/{name}")
    return None if raw is None else document_in(raw, f"backlog/{SEEN}/{name}", archive=name == cleo.ARCHIVE)


def _put(place: Path, raw: bytes, there: Document | None) -> bool:
    """Write a file unless it holds these bytes; a link or a folder in its place is not replaced."""
    if there is not None and there.raw == raw:
        return False
    with disk.folder(place.parent, [], make=True) as fd:
        disk.store(fd, place.name, raw, disk.look(fd, place.name))
    return True
