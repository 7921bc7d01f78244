"""`TaskIndex`: the SQLite index of all projects' tasks, one fragment per project; deleting the file is safe.

A fragment is keyed by the id of its content, so that a change costs one fragment. A dependency stores the name as
written; names are resolved when it is read, since projects are renamed.
"""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from json.encoder import encode_basestring_ascii
from typing import Any

from gitnexus.backlog.model import number_of_id
from gitnexus.projects.index.posting_lists import FILES, LABELS, WORDS
from gitnexus.projects.index.word_lists import WordLists
from gitnexus.projects.scoring import telling_words


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The indexed data of a task; `depends` is as written, `version` changes whenever the task does.

    `uids` has the `uid` of the task that each dependency means, whatever its number is now; empty if unknown.
    """

    id: str
    title: str
    status: str
    priority: str = "medium"
    type: str = "task"
    parent: str | None = None
    description: str = ""
    labels: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    version: str = ""
    uid: str = ""
    aliases: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()


@dataclass(frozen=True)
class IndexRow:
    """A task as stored in the index; `project` is the hash."""

    n: int
    project: str
    id: str
    title: str
    status: str
    priority: str
    type: str
    parent: str | None
    grandparent: str | None
    packed_labels: str
    packed_files: str
    packed_words: str

    # Unpacked when first asked for: a search may find every task there is.
    @cached_property
    def labels(self) -> frozenset[str]:
        return frozenset(json.loads(self.packed_labels))

    @cached_property
    def files(self) -> frozenset[str]:
        return frozenset(json.loads(self.packed_files))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.packed_words.split())

    @property
    def key(self) -> str:
        return f"{self.project}:{self.id}"

    @property
    def ancestors(self) -> tuple[str, ...]:
        return tuple(name for name in (self.parent, self.grandparent) if name)

    @property
    def number(self) -> int:
        return number_of_id(self.id)


# The content of a project that could not be read when it was last looked at.
GONE = "gone"
_COLUMNS = "task.n, project.hash, task.id, title, status, priority, type, parent, grandparent, labels, files, words"


class TaskIndex:
    """An open index. Code that finds it broken deletes the file; `with_index` creates a new one."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._words = WordLists(connection)

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Run a change of the index as one SQLite transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._words.publish()
        except BaseException:
            self._words.forget()
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read one consistent state of the index, whatever other processes change meanwhile."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    def contents(self) -> dict[str, tuple[str, str]]:
        """Return each indexed project's content id, and the value that was compared to detect changes."""
        return {
            hash_: (content, seen)
            for hash_, content, seen in self._db.execute("SELECT hash, content, seen FROM project")
        }

    def unreadable(self) -> set[str]:
        """Return the projects that could not be read."""
        return {hash_ for (hash_,) in self._db.execute("SELECT hash FROM project WHERE content = ?", (GONE,))}

    def replace(
        self, project: str, content: str, seen: str, entries: Iterable[IndexEntry], fold: Callable[[str], str]
    ) -> None:
        """Replace a project's fragment, and drop all cached answers."""
        self.drop([project])
        self.update(project, content, seen, entries, (), fold)

    def task_versions(self, project: str) -> dict[str, str]:
        """Return the version of each task of a project that is indexed."""
        found = self._db.execute(
            "SELECT id, version FROM task WHERE project = (SELECT n FROM project WHERE hash = ?)", (project,)
        )
        return dict(found.fetchall())

    def update(
        self,
        project: str,
        content: str,
        seen: str,
        entries: Iterable[IndexEntry],
        gone: Iterable[str],
        fold: Callable[[str], str],
    ) -> None:
        """Add, replace and remove tasks in a project's fragment."""
        found = {entry.id: entry for entry in entries}
        self._db.execute(
            "INSERT INTO project (hash, content, seen) VALUES (?, ?, ?) "
            "ON CONFLICT (hash) DO UPDATE SET content = excluded.content, seen = excluded.seen",
            (project, content, seen),
        )
        n = self._db.execute("SELECT n FROM project WHERE hash = ?", (project,)).fetchone()[0]
        if self._db.execute("SELECT 1 FROM task WHERE project = ? LIMIT 1", (n,)).fetchone():
            self._take_out(n, [*gone, *found])
        self._insert_tasks(n, project, found.values(), fold)
        above = "(SELECT above.parent FROM task above WHERE above.project = task.project AND above.id = task.parent)"
        self._db.execute(
            f"UPDATE task SET grandparent = {above} WHERE project = ? AND grandparent IS NOT {above}",  # noqa: S608
            (n,),
        )
        self._db.execute("DELETE FROM relation")

    def _insert_tasks(self, n: int, project: str, entries: Iterable[IndexEntry], fold: Callable[[str], str]) -> None:
        base = self._db.execute("SELECT free FROM number").fetchone()[0]
        tasks, edges, own, add = [], [], _own_name(project), self._words.add
        for at, entry in enumerate(entries, base):
            telling = telling_words(entry.title, entry.description)
            folded = fold("\n".join([entry.id, entry.title, " ".join(entry.labels), entry.description]))
            tasks.append(
                (
                    at,
                    n,
                    entry.id,
                    entry.title,
                    entry.status,
                    entry.priority,
                    entry.type,
                    entry.parent,
                    None,
                    _encode_list(entry.labels),
                    _encode_list(entry.files),
                    " ".join(telling),
                    entry.version,
                    folded,
                    entry.uid,
                    " ".join(entry.aliases),
                )
            )
            for kind, some in ((LABELS, set(entry.labels)), (WORDS, telling), (FILES, set(entry.files))):
                add(kind, some, at)
            for place, ref in enumerate(entry.depends):
                name, _, id_ = ref.rpartition(":")
                uid = entry.uids[place] if entry.uids else ""
                edges.append((at, place, own if name in ("", ".") else name, id_, uid))
        self._db.executemany("INSERT INTO task VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", tasks)
        self._db.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?)", edges)
        self._db.execute("UPDATE number SET free = ?", (base + len(tasks),))

    def _take_out(self, n: int, ids: Iterable[str]) -> None:
        for id_ in ids:
            found = self._db.execute("SELECT n FROM task WHERE project = ? AND id = ?", (n, id_)).fetchone()
            if found:
                self._db.execute("DELETE FROM task WHERE n = ?", found)
                self._db.execute("DELETE FROM edge WHERE task = ?", found)

    def note_seen(self, project: str, seen: str) -> None:
        """Record that a project's content is unchanged, with the value that was compared."""
        self._db.execute("UPDATE project SET seen = ? WHERE hash = ?", (seen, project))

    def drop(self, projects: Iterable[str]) -> None:
        """Remove projects, and drop all cached answers."""
        for project in projects:
            found = self._db.execute("SELECT n FROM project WHERE hash = ?", (project,)).fetchone()
            if found:
                self._drop_project(found[0])
        if self._db.execute("SELECT 1 FROM task LIMIT 1").fetchone() is None:
            self._words.clear()
        self._db.execute("DELETE FROM relation")

    def _drop_project(self, n: int) -> None:
        self._db.execute("DELETE FROM edge WHERE task IN (SELECT n FROM task WHERE project = ?)", (n,))
        self._db.execute("DELETE FROM task WHERE project = ?", (n,))
        self._db.execute("DELETE FROM project WHERE n = ?", (n,))

    def rows(self, where: str = "", values: Sequence[Any] = ()) -> Iterator[IndexRow]:
        """Yield tasks. `where` is SQL of this module, never text of a caller."""
        for found in self._db.execute(
            f"SELECT {_COLUMNS} FROM task JOIN project ON project.n = task.project {where}",  # noqa: S608
            values,
        ):
            yield IndexRow(*found)

    def task(self, project: str, id_: str) -> IndexRow | None:
        """Return one task."""
        return next(self.rows("WHERE project.hash = ? AND task.id = ?", (project, id_)), None)

    def tasks(self, numbers: Iterable[int]) -> list[IndexRow]:
        """Return tasks by their row number in the index."""
        wanted = list(numbers)
        found: list[IndexRow] = []
        for at in range(0, len(wanted), 500):
            some = wanted[at : at + 500]
            found += self.rows(f"WHERE task.n IN ({','.join('?' * len(some))})", some)
        return found

    def depends(self, row: IndexRow) -> list[tuple[str, str, str]]:
        """Return the dependencies of a task as (name, id, uid); the name is empty within its own project."""
        found = self._db.execute("SELECT name, id, uid FROM edge WHERE task = ? ORDER BY place", (row.n,))
        return [("" if name.startswith("#") else name, id_, uid) for name, id_, uid in found]

    def dependents(self, row: IndexRow, names: Sequence[str], known: Collection[str] = ()) -> list[IndexRow]:
        """Return the tasks that depend on one task; `known` are the names of all projects.

        In its own project they are found by id; elsewhere by its `uid` or, if none is recorded, by id and one of the
        project's names. Under a name that no project has here, the `uid` alone tells.
        """
        uid = self._db.execute("SELECT uid FROM task WHERE n = ?", (row.n,)).fetchone()[0]
        marks = ",".join("?" * (len(names) + 1))
        by_id = f"SELECT task FROM edge WHERE id = ? AND name IN ({marks}) AND uid IN ('', ?)"  # noqa: S608 - only question marks
        named = (_own_name(row.project), *names)
        under = self._db.execute("SELECT DISTINCT name FROM edge WHERE uid = ? AND uid != ''", (uid,)).fetchall()
        meant = [*named, *(name for (name,) in under if name not in known and not name.startswith("#"))]
        by_uid = f"SELECT task FROM edge WHERE uid = ? AND uid != '' AND name IN ({','.join('?' * len(meant))})"  # noqa: S608
        return list(self.rows(f"WHERE task.n IN ({by_id} UNION {by_uid})", (row.id, *named, uid, uid, *meant)))

    def edges(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield every dependency as (project, id, name, id of the dependency, its `uid` if recorded)."""
        for project, id_, name, other, uid in self._db.execute(
            "SELECT project.hash, task.id, edge.name, edge.id, edge.uid FROM edge JOIN task ON task.n = edge.task "
            "JOIN project ON project.n = task.project ORDER BY edge.task, edge.place"
        ):
            yield project, id_, "" if name.startswith("#") else name, other, uid

    def uids(self, project: str) -> dict[str, str]:
        """Return the id of each task of a project by its `uid`."""
        found = self._db.execute(
            "SELECT uid, id FROM task WHERE uid != '' AND project = (SELECT n FROM project WHERE hash = ?)", (project,)
        )
        return dict(found.fetchall())

    def once(self) -> dict[tuple[str, str], list[str]]:
        """Return the tasks that have a new number, by project and former number."""
        found: dict[tuple[str, str], list[str]] = {}
        for project, id_, aliases in self._db.execute(
            "SELECT project.hash, task.id, aliases FROM task JOIN project ON project.n = task.project "
            "WHERE aliases != ''"
        ):
            for alias in aliases.split():
                found.setdefault((project, alias), []).append(id_)
        return found

    def statuses(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield every task as (project, id, title, status)."""
        yield from self._db.execute(
            "SELECT project.hash, task.id, title, status FROM task JOIN project ON project.n = task.project"
        )

    def sharing(self, kind: int, some: Iterable[str], least: float) -> set[int]:
        """Return the row numbers of tasks that may share `least` of both their words and these; some may be deleted."""
        return self._words.sharing(kind, some, least)

    def holding(
        self, patterns: Sequence[str], statuses: Sequence[str] = ()
    ) -> Iterator[tuple[int, str, str, str, str]]:
        """Yield (number, project, id, labels, folded text) of the tasks whose text holds every GLOB pattern."""
        tests = ["folded GLOB ?"] * len(patterns)
        tests += [f"status IN ({','.join('?' * len(statuses))})"] if statuses else []
        projects = dict(self._db.execute("SELECT n, hash FROM project").fetchall())
        for n, project, id_, labels, text in self._db.execute(
            f"SELECT n, project, id, labels, folded FROM task WHERE {' AND '.join(tests) or '1'}",  # noqa: S608
            (*patterns, *statuses),
        ):
            yield n, projects[project], id_, labels, text

    def counts(self) -> Mapping[str, int]:
        """Return the number of projects, tasks and dependencies."""
        names = ("project", "task", "edge")
        return {name: self._db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in names}  # noqa: S608

    def answer(self, project: str, id_: str, asked: str) -> Any:
        """Return the cached answer to a query, None if there is none since the last change of any project."""
        found = self._db.execute(
            "SELECT answer FROM relation WHERE project = ? AND id = ? AND asked = ?", (project, id_, asked)
        ).fetchone()
        return json.loads(found[0]) if found else None

    def keep(self, project: str, id_: str, asked: str, answer: Any) -> None:
        """Cache an answer, empty ones too, until a project changes."""
        with contextlib.suppress(sqlite3.OperationalError):  # somebody else is writing: then it is not kept
            self._db.execute(
                "INSERT OR REPLACE INTO relation VALUES (?, ?, ?, ?)", (project, id_, asked, json.dumps(answer))
            )


def _own_name(project: str) -> str:
    """Return the name by which a project refers to itself in its edges; no project name begins like this."""
    return f"#{project}"


def _encode_list(some: Iterable[str]) -> str:
    return f"[{', '.join(map(encode_basestring_ascii, dict.fromkeys(some)))}]"  # json.dumps takes three times as long
