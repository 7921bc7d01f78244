"""The index of all projects' tasks: one fragment a project, in a file that can be deleted at any time.

A fragment is keyed by what identifies its content, so a change elsewhere costs nothing and a change here one fragment.
A dependency keeps the name that was written; names are resolved when it is read, since projects are renamed.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gitnexus.backlog.model import number_of
from gitnexus.projects.scoring import words

FORMAT = 1
LABELS, WORDS, FILES = 0, 1, 2
_PATIENCE = 30.0
# A word of so many tasks tells little, and is looked up only where it must be.
_MANY = 2000
_HEADER = b"SQLite format 3\0"
_SCHEMA = """
CREATE TABLE project (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, content TEXT NOT NULL, seen TEXT NOT NULL);
CREATE TABLE task (
  n INTEGER PRIMARY KEY, project INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL,
  priority TEXT NOT NULL, type TEXT NOT NULL, parent TEXT, grandparent TEXT, description TEXT NOT NULL,
  labels TEXT NOT NULL, files TEXT NOT NULL, words TEXT NOT NULL, folded TEXT NOT NULL, UNIQUE (project, id)
);
CREATE TABLE word (kind INTEGER, word TEXT, task INTEGER, size INTEGER, PRIMARY KEY (kind, word, task)) WITHOUT ROWID;
CREATE TABLE edge (task INTEGER NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL);
CREATE INDEX edge_from ON edge (task);
CREATE INDEX edge_to ON edge (id, name);
CREATE TABLE relation (
  project TEXT, id TEXT, asked TEXT, answer TEXT NOT NULL, PRIMARY KEY (project, id, asked)
) WITHOUT ROWID;
"""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """A task as a fragment is made of; `depends` is as it was written."""

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


@dataclass(frozen=True, slots=True)
class Row:
    """A task as the index knows it; `project` is the hash."""

    n: int
    project: str
    id: str
    title: str
    status: str
    priority: str
    type: str
    parent: str | None
    grandparent: str | None
    description: str
    labels: frozenset[str]
    files: frozenset[str]
    words: frozenset[str]

    @property
    def key(self) -> str:
        return f"{self.project}:{self.id}"

    @property
    def ancestors(self) -> tuple[str, ...]:
        return tuple(name for name in (self.parent, self.grandparent) if name)

    @property
    def number(self) -> int:
        return number_of(self.id)


_COLUMNS = ("task.n, project.hash, task.id, title, status, priority, type, parent, grandparent, description, labels, "
            "files, words")  # fmt: skip


class Index:
    """An open index. Whoever finds it broken throws it away: `with_index` makes it anew."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the index for a change: all of it or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the index, whatever others change meanwhile."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    def contents(self) -> dict[str, tuple[str, str]]:
        """Return each indexed project's content id, and what was looked at to know it."""
        return {
            hash_: (content, seen)
            for hash_, content, seen in self._db.execute("SELECT hash, content, seen FROM project")
        }

    def replace(
        self, project: str, content: str, seen: str, entries: Iterable[Entry], fold: Callable[[str], str]
    ) -> None:
        """Put a project's fragment in place of the one before; answers that were kept are forgotten."""
        found = {entry.id: entry for entry in entries}
        self.drop([project])
        row = self._db.execute("INSERT INTO project (hash, content, seen) VALUES (?, ?, ?)", (project, content, seen))
        n = row.lastrowid
        base = self._db.execute("SELECT COALESCE(MAX(n), 0) FROM task").fetchone()[0] + 1
        tasks, terms, edges = [], [], []
        for at, entry in enumerate(found.values(), base):
            telling = words(entry.title, entry.description)
            above = found.get(entry.parent) if entry.parent else None
            folded = fold("\n".join([entry.id, entry.title, " ".join(entry.labels), entry.description]))
            tasks.append((at, n, entry.id, entry.title, entry.status, entry.priority, entry.type, entry.parent,
                          above.parent if above else None, entry.description, _list(entry.labels), _list(entry.files),
                          " ".join(sorted(telling)), folded))  # fmt: skip
            for kind, some in ((LABELS, entry.labels), (WORDS, telling), (FILES, entry.files)):
                terms += [(kind, word, at, len(set(some))) for word in set(some)]
            for place, ref in enumerate(entry.depends):
                name, _, id_ = ref.rpartition(":")
                edges.append((at, _own(project) if name in ("", ".") else name, id_, place))
        self._db.executemany("INSERT INTO task VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", tasks)
        self._db.executemany("INSERT OR IGNORE INTO word VALUES (?, ?, ?, ?)", sorted(terms))
        self._db.executemany("INSERT INTO edge VALUES (?, ?, ?, ?)", edges)

    def seen(self, project: str, seen: str) -> None:
        """Note what was looked at to know that a project's content is unchanged."""
        self._db.execute("UPDATE project SET seen = ? WHERE hash = ?", (seen, project))

    def drop(self, projects: Iterable[str]) -> None:
        """Forget projects, and every answer that was kept."""
        for project in projects:
            found = self._db.execute("SELECT n FROM project WHERE hash = ?", (project,)).fetchone()
            if found:
                self._drop(found[0])
        self._db.execute("DELETE FROM relation")

    def _drop(self, n: int) -> None:
        gone = list(self._db.execute("SELECT n, labels, words, files FROM task WHERE project = ?", (n,)))
        terms = []
        for task, labels, telling, files in gone:
            for kind, some in ((LABELS, json.loads(labels)), (WORDS, telling.split()), (FILES, json.loads(files))):
                terms += [(kind, word, task) for word in some]
        self._db.executemany("DELETE FROM word WHERE kind = ? AND word = ? AND task = ?", terms)
        self._db.execute("DELETE FROM edge WHERE task IN (SELECT n FROM task WHERE project = ?)", (n,))
        self._db.execute("DELETE FROM task WHERE project = ?", (n,))
        self._db.execute("DELETE FROM project WHERE n = ?", (n,))

    def rows(self, where: str = "", values: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield tasks. `where` is ours, never a caller's words."""
        for found in self._db.execute(f"SELECT {_COLUMNS} FROM task JOIN project ON project.n = task.project {where}",  # noqa: S608
                                      values):  # fmt: skip
            yield _row(found)

    def task(self, project: str, id_: str) -> Row | None:
        """Return one task."""
        return next(self.rows("WHERE project.hash = ? AND task.id = ?", (project, id_)), None)

    def tasks(self, numbers: Iterable[int]) -> list[Row]:
        """Return tasks by their number in the index."""
        wanted = list(numbers)
        found: list[Row] = []
        for at in range(0, len(wanted), 500):
            some = wanted[at : at + 500]
            found += self.rows(f"WHERE task.n IN ({','.join('?' * len(some))})", some)
        return found

    def depends(self, row: Row) -> list[tuple[str, str]]:
        """Return what a task depends on as (name, id), the name empty within its own project."""
        found = self._db.execute("SELECT name, id FROM edge WHERE task = ? ORDER BY place", (row.n,))
        return [("" if name.startswith("#") else name, id_) for name, id_ in found]

    def dependents(self, project: str, names: Sequence[str], id_: str) -> list[Row]:
        """Return the tasks that depend on one: in its project by id, elsewhere by one of the project's names."""
        marks = ",".join("?" * (len(names) + 1))
        edges = f"SELECT task FROM edge WHERE id = ? AND name IN ({marks})"  # noqa: S608 - only question marks
        return list(self.rows(f"WHERE task.n IN ({edges})", (id_, _own(project), *names)))

    def edges(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield every dependency as (project, id, name, id of what it depends on)."""
        for project, id_, name, other in self._db.execute(
            "SELECT project.hash, task.id, edge.name, edge.id FROM edge JOIN task ON task.n = edge.task "
            "JOIN project ON project.n = task.project ORDER BY edge.rowid"
        ):
            yield project, id_, "" if name.startswith("#") else name, other

    def statuses(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield every task as (project, id, title, status)."""
        yield from self._db.execute(
            "SELECT project.hash, task.id, title, status FROM task JOIN project ON project.n = task.project"
        )

    def sharing(self, kind: int, some: Iterable[str], least: float) -> set[int]:
        """Return the tasks that may share `least` of both their words and these.

        Words that very many tasks have are looked up only if there are not enough others: two sets that share at least
        a part t of their union share one of any n - ceil(t·n) + 1 words of the first. What was not looked up counts as
        shared, so nothing is missed.
        """
        counted = sorted((self._frequency(kind, word), word) for word in some)
        size, part = len(counted), max(least, 1e-9)
        needed = max(size - _ceil(part * size) + 1, 1)
        looked = [word for at, (many, word) in enumerate(counted) if at < needed or many < _MANY]
        rest = size - len(looked)
        found: set[int] = set()
        for at in range(0, len(looked), 500):
            marks = ",".join("?" * len(looked[at : at + 500]))
            rest_here = rest + len(looked) - len(looked[at : at + 500])
            query = f"SELECT task, size, COUNT(*) FROM word WHERE kind = ? AND word IN ({marks}) GROUP BY task"  # noqa: S608
            for task, other, shared in self._db.execute(query, (kind, *looked[at : at + 500])):
                most = min(shared + rest_here, size, other)
                if most / (size + other - most) >= part - 1e-9:
                    found.add(task)
        return found

    def _frequency(self, kind: int, word: str) -> int:
        query = f"SELECT COUNT(*) FROM (SELECT 1 FROM word WHERE kind = ? AND word = ? LIMIT {_MANY})"  # noqa: S608
        return int(self._db.execute(query, (kind, word)).fetchone()[0])

    def holding(self, patterns: Sequence[str]) -> list[tuple[Row, str]]:
        """Return the tasks whose folded text holds every GLOB pattern, with that text."""
        where = " AND ".join(["folded GLOB ?"] * len(patterns)) or "1"
        found = self._db.execute(
            f"SELECT {_COLUMNS}, folded FROM task JOIN project ON project.n = task.project WHERE {where}",  # noqa: S608
            tuple(patterns),
        )
        return [(_row(values[:-1]), values[-1]) for values in found]

    def counts(self) -> Mapping[str, int]:
        """Return how much there is."""
        names = ("project", "task", "edge")
        return {name: self._db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in names}  # noqa: S608

    def answer(self, project: str, id_: str, asked: str) -> Any:
        """Return an answer that was kept since the last change of any project, None if there is none."""
        found = self._db.execute(
            "SELECT answer FROM relation WHERE project = ? AND id = ? AND asked = ?", (project, id_, asked)
        ).fetchone()
        return json.loads(found[0]) if found else None

    def keep(self, project: str, id_: str, asked: str, answer: Any) -> None:
        """Keep an answer, empty ones too, until a project changes."""
        with contextlib.suppress(sqlite3.OperationalError):  # somebody else is writing: then it is not kept
            self._db.execute(
                "INSERT OR REPLACE INTO relation VALUES (?, ?, ?, ?)", (project, id_, asked, json.dumps(answer))
            )


def with_index(path: Path, use: Callable[[Index], T]) -> T:
    """Let `use` work with the index; one that is broken is made anew, and `use` is asked again.

    Raises: sqlite3.Error if a new one is broken too.
    """
    if not _is_whole(path):
        _remove(path)
    try:
        return _used(path, use)
    except sqlite3.OperationalError as exc:
        if "locked" in str(exc):
            raise
        _remove(path)
    except sqlite3.DatabaseError:
        _remove(path)
    return _used(path, use)


def _used(path: Path, use: Callable[[Index], T]) -> T:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    with contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as db:
        # It can always be made again; a kill is undone by the journal, and a power cut is noticed or rebuilt.
        db.execute("PRAGMA synchronous = OFF")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        index = Index(db)
        if version != FORMAT:
            with index.changing():
                _begin(db)
        return use(index)


def _begin(db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
        return  # somebody else was first
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        db.execute(f'DROP TABLE "{name}"')
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {FORMAT}")


def _is_whole(path: Path) -> bool:
    """False for a file that is cut off or is no index at all; SQLite would notice only where it happens to read."""
    try:
        with path.open("rb") as handle:
            head = handle.read(100)
            size = os.fstat(handle.fileno()).st_size
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if size == 0:
        return True
    page = int.from_bytes(head[16:18]) or 1
    page = 65536 if page == 1 else page
    return head.startswith(_HEADER) and size >= page * int.from_bytes(head[28:32])


def _remove(path: Path) -> None:
    for name in (path, path.with_name(f"{path.name}-journal")):
        with contextlib.suppress(FileNotFoundError):
            name.unlink()


def _row(found: Sequence[Any]) -> Row:
    labels, files, telling = found[10:13]
    n, project, id_, title, status, priority, type_, parent, grandparent, description = found[:10]
    return Row(n, project, id_, title, status, priority, type_, parent, grandparent, description,
               frozenset(json.loads(labels)), frozenset(json.loads(files)), frozenset(telling.split()))  # fmt: skip


def _own(project: str) -> str:
    """Return how a project names itself in its edges; no name of a project begins so."""
    return f"#{project}"


def _list(some: Iterable[str]) -> str:
    return json.dumps(list(dict.fromkeys(some)), ensure_ascii=False)


def _ceil(number: float) -> int:
    return -int(-(number - 1e-9) // 1)  # rather one word too many than one too few
