"""`Project` and `Registry`: the records of the project registry."""

import dataclasses
import os
import re
import unicodedata
from pathlib import Path

from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Project(StoredRecord):
    """One row: where the project is, and its name. `id` is the same in every clone."""

    hash: str
    path: str
    name: str
    aliases: tuple[str, ...] = ()
    last_access: str | None = None
    id: str | None = None

    def described(self) -> dict[str, str]:
        """Return the project's fields for the JSON envelope."""
        return {"name": self.name, "hash": self.hash, "path": self.path}


class Registry(StoredRecord):
    """The whole file, keyed by hash."""

    version: str = "1.0.0"
    last_updated: str = ""
    projects: dict[str, Project] = dataclasses.field(default_factory=dict)

    def at(self, path: str) -> Project | None:
        """Return the project that is registered at a real path."""
        return next((project for project in self.projects.values() if project.path == path), None)

    def owner(self, word: str) -> Project | None:
        """Return the project with the name or alias `word`; names and aliases share one namespace."""
        return next((p for p in self.projects.values() if word == p.name or word in p.aliases), None)

    def projects_by_name(self) -> list[Project]:
        """Return the projects by name."""
        return sorted(self.projects.values(), key=lambda project: (project.name, project.hash))

    def without(self, gone: str) -> "Registry":
        """Return the registry without the project with this hash."""
        return self.changed(projects={key: row for key, row in self.projects.items() if key != gone})

    def with_row(self, row: Project) -> "Registry":
        """Return the registry with a row added or replaced."""
        return self.changed(projects={**self.projects, row.hash: row})


def hash_of(path: str) -> str:
    """Return the registry key of a real path: 12 hex digits of its SHA-256."""
    import hashlib  # 3 ms: only who needs the key pays

    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def real_path(place: Path) -> str:
    """Return the path under which a project is registered."""
    return os.path.realpath(place)


def require_name(word: str, what: str = "name") -> str:
    """Return the name if references can use it. Raises: Invalid."""
    if not NAME.fullmatch(word) or word.startswith("-"):
        raise Invalid(
            f"{word!r} cannot be a project's {what}",
            hint="use up to 64 letters, digits, - and _, the first no - (so that name:T1 can be typed); "
            f"for instance {usable_name(word)}",
            context={"name": word, "proposal": usable_name(word)},
        )
    return word


def usable_name(text: str) -> str:
    """Return the closest name that references can use: Österreich becomes Osterreich."""
    plain = "".join(ch for ch in unicodedata.normalize("NFKD", text) if not unicodedata.combining(ch))
    return re.sub(r"[^A-Za-z0-9_-]+", "-", plain).strip("-")[:64].strip("-") or "project"


def default_name(place: Path) -> str:
    """Return the folder's name with every character that is not allowed replaced."""
    folder = place.name.removesuffix(".git") or place.name
    return re.sub(r"[^A-Za-z0-9_-]", "-", folder)[:64] or "project"
