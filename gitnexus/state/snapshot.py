"""Reads files from one commit of the state ref without a checkout."""

from collections.abc import Collection, Iterator, Sequence

from gitnexus.base.errors import Failed
from gitnexus.git import GitFailed, Objects
from gitnexus.state.layout import why_path_unsafe

_DEEPEST = 32


class Snapshot:
    """The files of one commit; its answers never change."""

    def __init__(self, objects: Objects, commit: str | None, tree: str | None = None) -> None:
        """`commit` None is the state before the first write; `tree` saves a lookup if it is known."""
        self._objects = objects
        self.commit = commit
        self.tree = tree or (objects.tree_of(commit) if commit else None)
        self._ids: dict[str, str] | None = None
        self._texts: dict[str, bytes | None] = {}
        self.unreadable: list[str] = []

    def oid(self, path: str) -> str | None:
        """Return the blob id at `path`, or None."""
        if self.tree is None or why_path_unsafe(path):
            return None
        entry = self._objects.find(self.tree, path)
        return entry.oid if entry is not None and entry.is_file else None

    def read(self, path: str) -> bytes | None:
        """Return the bytes at `path`, or None if there is no such file."""
        oid = self.oid(path)
        return None if oid is None else self._objects.blob(oid)

    def read_once(self, path: str) -> bytes | None:
        """Return the bytes at `path` as `read` does, and keep them: for a small file that is often asked for."""
        if path not in self._texts:
            self._texts[path] = self.read(path)
        return self._texts[path]

    def has(self, path: str) -> bool:
        """Return True if anything is at `path`, even what `read` does not accept as a file."""
        return self.tree is not None and self._objects.find(self.tree, path) is not None

    def blob(self, oid: str) -> bytes:
        """Return the bytes of a blob id returned by `ids`."""
        return self._objects.blob(oid)

    def files(self, folder: str) -> dict[str, bytes]:
        """Return the files directly in `folder`, sorted by name, with their bytes.

        A file whose bytes are missing or damaged is left out and listed in `unreadable`; the others are not affected.
        """
        rows = self.oids(folder)
        found = dict(zip(rows, blobs_or_none(self._objects, list(rows.values())), strict=True))
        self.unreadable += [f"{folder}/{name}" for name, raw in found.items() if raw is None]
        return {name: raw for name, raw in found.items() if raw is not None}

    def blobs_or_none(self, oids: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the bytes of many blobs, None for a missing or damaged one; nothing else may be read meanwhile."""
        return blobs_or_none(self._objects, oids)

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes]:
        """Yield the bytes of many blob ids returned by `oids` or `ids`; nothing else may be read meanwhile."""
        return self._objects.blobs(oids)

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of the files directly in `folder`."""
        return list(self.oids(folder))

    def oids(self, folder: str) -> dict[str, str]:
        """Return the files directly in `folder`, sorted by name, with their blob ids."""
        entry = self._objects.find(self.tree, folder) if self.tree else None
        if entry is None or not entry.is_folder:
            return {}
        rows = self._objects.entries(entry.oid)
        return {name: rows[name].oid for name in sorted(rows) if rows[name].is_file and why_path_unsafe(name) is None}

    def obstructs(self, path: str, going: Collection[str] = ()) -> bool:
        """Return True if `path` is a folder, or needs a folder where a file is that is not in `going`."""
        if self.tree is None:
            return False
        entry = self._objects.find(self.tree, path)
        if entry is not None and entry.is_folder:
            return not all(name in going for name in self.ids() if name.startswith(path + "/"))
        parents = path.split("/")[:-1]
        above = ["/".join(parents[: depth + 1]) for depth in range(len(parents))]
        return any(self.oid(name) is not None and name not in going for name in above)

    def ids(self) -> dict[str, str]:
        """Return every file as path → blob id, without links, submodules and unsafe paths."""
        if self._ids is None:
            self._ids = dict(self._walk_files(self.tree, "", 0)) if self.tree else {}
        return self._ids

    def unsafe(self) -> list[str]:
        """Return the entries that `ids` leaves out: git nexus never writes them, but another tool's push may."""
        return sorted(self._walk_unsafe_rows(self.tree, "", 0)) if self.tree else []

    def _walk_files(self, tree: str, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
        if depth > _DEEPEST:
            raise Failed("the state tree is nested too deeply to be ours", hint="git ls-tree -r shows it")
        for name, entry in self._objects.entries(tree).items():
            if why_path_unsafe(name) is not None:
                continue
            if entry.is_folder:
                yield from self._walk_files(entry.oid, f"{prefix}{name}/", depth + 1)
            elif entry.is_file:
                yield f"{prefix}{name}", entry.oid

    def _walk_unsafe_rows(self, tree: str, prefix: str, depth: int) -> Iterator[str]:
        for name, entry in self._objects.entries(tree).items():
            if why_path_unsafe(name) is not None or not (entry.is_file or entry.is_folder):
                yield f"{prefix}{name}"
            elif entry.is_folder and depth <= _DEEPEST:
                yield from self._walk_unsafe_rows(entry.oid, f"{prefix}{name}/", depth + 1)


def blobs_or_none(objects: Objects, oids: Sequence[str]) -> Iterator[bytes | None]:
    """Yield the bytes of many blobs, None for a missing or damaged one; nothing else may be read meanwhile."""
    at = 0
    while at < len(oids):
        try:
            for raw in objects.blobs(oids[at:]):
                at += 1
                yield raw
        except GitFailed:
            at += 1
            yield None
