"""One commit of the state, read without a checkout."""

from collections.abc import Collection, Iterator, Sequence

from gitnexus.base.errors import Failed
from gitnexus.git import Objects
from gitnexus.state.layout import why_unsafe

_DEEPEST = 32


class Snapshot:
    """The files of one commit; what it answers never changes."""

    def __init__(self, objects: Objects, commit: str | None, tree: str | None = None) -> None:
        """`commit` None is the state before the first write; `tree` spares a look where it is known."""
        self._objects = objects
        self.commit = commit
        self.tree = tree or (objects.tree_of(commit) if commit else None)
        self._ids: dict[str, str] | None = None

    def oid(self, path: str) -> str | None:
        """Return the blob id at `path`, or None."""
        if self.tree is None or why_unsafe(path):
            return None
        entry = self._objects.find(self.tree, path)
        return entry.oid if entry is not None and entry.is_file else None

    def read(self, path: str) -> bytes | None:
        """Return the bytes at `path`, or None if there is no such file."""
        oid = self.oid(path)
        return None if oid is None else self._objects.blob(oid)

    def has(self, path: str) -> bool:
        """True if anything at all is at `path`, also what `read` does not take for a file."""
        return self.tree is not None and self._objects.find(self.tree, path) is not None

    def blob(self, oid: str) -> bytes:
        """Return the bytes of a blob id that `ids` gave."""
        return self._objects.blob(oid)

    def files(self, folder: str) -> dict[str, bytes]:
        """Return the files directly in `folder`, sorted by name, with their bytes."""
        rows = self.oids(folder)
        return dict(zip(rows, self.blobs(list(rows.values())), strict=True))

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes]:
        """Yield the bytes of many blob ids that `oids` or `ids` gave; read nothing else meanwhile."""
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
        return {name: rows[name].oid for name in sorted(rows) if rows[name].is_file and why_unsafe(name) is None}

    def obstructs(self, path: str, going: Collection[str] = ()) -> bool:
        """True if a folder is where `path` would be a file, or a file (not `going`) where it needs a folder."""
        if self.tree is None:
            return False
        entry = self._objects.find(self.tree, path)
        if entry is not None and entry.is_folder:
            return not all(name in going for name in self.ids() if name.startswith(path + "/"))
        parents = path.split("/")[:-1]
        above = ["/".join(parents[: depth + 1]) for depth in range(len(parents))]
        return any(self.oid(name) is not None and name not in going for name in above)

    def ids(self) -> dict[str, str]:
        """Return every file as path → blob id; links, submodules and paths that are not safe are left out."""
        if self._ids is None:
            self._ids = dict(self._walk(self.tree, "", 0)) if self.tree else {}
        return self._ids

    def unsafe(self) -> list[str]:
        """Return the rows that `ids` leaves out: no nexus writes them, a stranger's push may hold them."""
        return sorted(self._odd(self.tree, "", 0)) if self.tree else []

    def _walk(self, tree: str, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
        if depth > _DEEPEST:
            raise Failed("the state tree is nested too deeply to be ours", hint="git ls-tree -r shows it")
        for name, entry in self._objects.entries(tree).items():
            if why_unsafe(name) is not None:
                continue
            if entry.is_folder:
                yield from self._walk(entry.oid, f"{prefix}{name}/", depth + 1)
            elif entry.is_file:
                yield f"{prefix}{name}", entry.oid

    def _odd(self, tree: str, prefix: str, depth: int) -> Iterator[str]:
        for name, entry in self._objects.entries(tree).items():
            if why_unsafe(name) is not None or not (entry.is_file or entry.is_folder):
                yield f"{prefix}{name}"
            elif entry.is_folder and depth <= _DEEPEST:
                yield from self._odd(entry.oid, f"{prefix}{name}/", depth + 1)
