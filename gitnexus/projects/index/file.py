"""Opens the index file, and recreates it if it is broken or of another format."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gitnexus.base.files import make_private_folder
from gitnexus.projects.index.model import TaskIndex

FORMAT = 5
_PATIENCE = 30.0
_HEADER = b"SQLite format 3\0"
_SCHEMA = """
CREATE TABLE project (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, content TEXT NOT NULL, seen TEXT NOT NULL);
CREATE TABLE task (
  n INTEGER PRIMARY KEY, project INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL,
  priority TEXT NOT NULL, type TEXT NOT NULL, parent TEXT, grandparent TEXT, labels TEXT NOT NULL, files TEXT NOT NULL,
  words TEXT NOT NULL, version TEXT NOT NULL, folded TEXT NOT NULL, uid TEXT NOT NULL, aliases TEXT NOT NULL,
  UNIQUE (project, id)
);
CREATE TABLE number (free INTEGER NOT NULL);
INSERT INTO number VALUES (1);
CREATE TABLE word (kind INTEGER, word TEXT, tasks BLOB NOT NULL, PRIMARY KEY (kind, word)) WITHOUT ROWID;
CREATE TABLE fresh (kind INTEGER, word TEXT, tasks BLOB NOT NULL, PRIMARY KEY (kind, word)) WITHOUT ROWID;
CREATE TABLE edge (
  task INTEGER, place INTEGER, name TEXT NOT NULL, id TEXT NOT NULL, uid TEXT NOT NULL, PRIMARY KEY (task, place)
) WITHOUT ROWID;
CREATE INDEX edge_uid ON edge (uid) WHERE uid != '';
CREATE INDEX edge_to ON edge (id, name);
CREATE TABLE relation (
  project TEXT, id TEXT, asked TEXT, answer TEXT NOT NULL, PRIMARY KEY (project, id, asked)
) WITHOUT ROWID;
"""
T = TypeVar("T")


def with_index(path: Path, use: Callable[[TaskIndex], T]) -> T:
    """Call `use` with the index; a broken one is recreated and `use` is called again.

    Raises: sqlite3.Error if the new one is broken too.
    """
    if not is_whole(path):
        remove_index_file(path)
    try:
        return _use_file(path, use)
    except sqlite3.OperationalError as exc:
        if "locked" in str(exc):
            raise
        remove_index_file(path)
    except (sqlite3.DatabaseError, ValueError):  # also a list or a text in it that reads as nothing
        remove_index_file(path)
    return _use_file(path, use)


def _use_file(path: Path, use: Callable[[TaskIndex], T]) -> T:
    make_private_folder(path.parent)
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    with contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as db:
        # It can always be made again; a kill is undone by the journal, and a power cut is noticed or rebuilt.
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA cache_size = -32000")  # 32 MB at most: a new fragment touches pages all over the file
        version = db.execute("PRAGMA user_version").fetchone()[0]
        index = TaskIndex(db)
        if version != FORMAT:
            with index.changing():
                _create_schema(db)
        return use(index)


def _create_schema(db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
        return  # somebody else was first
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        db.execute(f'DROP TABLE "{name}"')
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {FORMAT}")


def is_whole(path: Path) -> bool:
    """Return False for a truncated file or one that is not an index. SQLite would notice only on reading that page."""
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


def remove_index_file(path: Path) -> None:
    """Delete the index, and the temporary files that a killed process left beside it."""
    for name in (path, path.with_name(f"{path.name}-journal")):
        with contextlib.suppress(FileNotFoundError):
            name.unlink()
