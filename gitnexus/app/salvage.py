"""Restores lost git objects from the `.nexus/` of worktrees and from remotes."""

import contextlib
import re
import shutil
import tempfile
from pathlib import Path
from typing import Self

from gitnexus.base.errors import NexusError
from gitnexus.base.randomness import random_hex
from gitnexus.git import Repo, blob_id, config
from gitnexus.git.child import run_git
from gitnexus.git.exchange import fetch_remote_refs, list_remote_refs
from gitnexus.git.loose import read_loose, write_loose
from gitnexus.state import STATE_REF, disk
from gitnexus.state.layout import LARGEST_FILE, belongs_to_state
from gitnexus.state.projection import list_projections

_COMPLAINED = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
_MOST_FETCHED = 512 * 2**20


class Salvage:
    """Finds objects by id; a damaged one is moved to the trash before the good one is written."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._objects = repo.common_dir / "objects"
        self._roots = [projection.root for projection in list_projections(repo)]
        self._copies: list[tuple[str, Path]] | None = None
        # The remotes that did not answer: they may have what is missing.
        self.unasked: list[str] = []
        self.brought = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _name, place in self._copies or ():
            shutil.rmtree(place, ignore_errors=True)

    def has(self, oid: str) -> bool:
        """Return True if an object is readable; a damaged one is moved away."""
        if self._read(oid, self._repo.common_dir) is not None:
            return True
        self._put_aside(oid)
        return False

    def bring(self, path: str, oid: str) -> str | None:
        """Restore a missing or damaged blob; return its source, None if there is none.

        Raises: OSError, GitFailed, if a disk does not let it be read or written: that does not mean that it is lost.
        """
        for root in self._roots:
            held = None
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, NexusError):
                held = disk.load_path(root, path, LARGEST_FILE) if belongs_to_state(path) else None
            if held is not None and blob_id(held[0], self._repo.object_format) == oid:
                self._put_aside(oid)
                self._write("blob", held[0])
                return f"{root}/{path}"
        found = self.fetch(oid)
        if found is None:
            self._put_aside(oid)
        return found

    def fetch(self, oid: str) -> str | None:
        """Fetch an object from a remote; return the remote's name, None if none has it."""
        for name, place in self._remote_copies():
            found = self._read(oid, place)
            if found is not None:
                self._put_aside(oid)
                if self._write(*found) == oid:
                    self.brought += 1
                    return name
        return None

    def bring_history(self, commit: str) -> int:
        """Restore missing history from the remotes; return the number of objects still missing."""
        while True:  # what was missing may name more that is; each round brings something, or is the last
            asked = run_git("rev-list", "--objects", "--missing=print", commit, "--", git_dir=self._repo.common_dir)
            lines = asked.stdout.decode("utf-8", "replace").splitlines()
            # Git before 2.44 does not list commits that are missing: it names the first and fails.
            named = _COMPLAINED.findall(asked.stderr.decode("utf-8", "replace"))
            missing = [*(line[1:] for line in lines if line.startswith("?")), *dict.fromkeys(named)]
            missing = [oid for oid in missing if not self.has(oid)]
            brought = [oid for oid in missing if self.fetch(oid) is not None]
            if not brought:
                return len(missing)

    def _remote_copies(self) -> list[tuple[str, Path]]:
        """Fetch the state of each remote into a temporary repository: in this one, git would consider lost objects
        present.
        """
        if self._copies is None:
            self._copies = []
            names = run_git("remote", git_dir=self._repo.common_dir).stdout.decode("utf-8", "replace").split()
            for name in names:
                url = config.config_value(self._repo, f"remote.{name}.url")
                if url:
                    place = Path(tempfile.mkdtemp(prefix="nexus-salvage-"))
                    self._copies.append((name, place))
                    try:
                        self._copy_state(url, place)
                    except NexusError:
                        self.unasked.append(name)
        return self._copies

    def _copy_state(self, url: str, place: Path) -> None:
        form = self._repo.object_format
        run_git("init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(place))
        remote = str(self._repo.folder / url) if (self._repo.folder / url).exists() else url
        copy = Repo(place, place, None, form)
        if list_remote_refs(copy, remote, [STATE_REF]):
            fetch_remote_refs(copy, remote, {STATE_REF: STATE_REF}, most=_MOST_FETCHED)

    def _read(self, oid: str, git_dir: Path) -> tuple[str, bytes] | None:
        loose = read_loose(git_dir / "objects", oid)
        if loose is not None:
            return loose
        kind = run_git("cat-file", "-t", oid, git_dir=git_dir).stdout.decode().strip()
        if not kind:
            return None
        body = run_git("cat-file", kind, oid, git_dir=git_dir)
        return (kind, body.stdout) if body.returncode == 0 else None

    def _write(self, kind: str, body: bytes) -> str:
        # It replaces what was lost: a power cut must not take it again.
        return write_loose(self._objects, self._repo.object_format, kind, body, durable=True)

    def _put_aside(self, oid: str) -> None:
        """Move a damaged object file to the trash: git would treat it as present."""
        trash = self._repo.common_dir / "nexus" / "trash"
        with contextlib.suppress(FileNotFoundError):
            trash.mkdir(parents=True, exist_ok=True)
            (self._objects / oid[:2] / oid[2:]).rename(trash / f"object-{oid}-{random_hex(8)}")
