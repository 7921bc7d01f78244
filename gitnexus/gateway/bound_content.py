"""Reads what a command's digest covers only by hash: files of the worktree, and the program if it is one of them.

Committed content is left out: git shows it. Everything else may have been written by an agent just now, so the approver
has to see it.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import NotFound
from gitnexus.base.text import make_visible
from gitnexus.git import Repo
from gitnexus.git.child import GitFailed
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.private import private_git
from gitnexus.git.tree_diff import GITLINK, list_tree_files, read_blobs
from gitnexus.policy.model import CommandRequest

_DIGEST = "sha256:"


@dataclass(frozen=True, slots=True)
class BoundFile:
    """A file by name and digest; `data` is None if no file here has that content."""

    name: str
    digest: str
    data: bytes | None


def uncommitted_files(repo: Repo, request: CommandRequest, largest: int) -> list[BoundFile]:
    """Return the bound files that are not as in the base commit; data longer than `largest` is not read."""
    bound = {name: held.partition(",")[0] for name, held in sorted((request.files or {}).items())}
    program = _program_in_worktree(request)
    if program:
        bound.setdefault(program, request.program_digest)
    committed = _committed_digests(repo, request, list(bound)) if bound else set()
    return [
        BoundFile(make_visible(name, keep=""), digest, _read_if_same(Path(request.cwd) / name, digest, largest))
        for name, digest in bound.items()
        if digest not in committed
    ]


def _program_in_worktree(request: CommandRequest) -> str:
    """Return the program's path from the command's folder if it is a file of the worktree, else an empty string."""
    cwd = Path(request.cwd)
    top = next((folder for folder in (cwd, *cwd.parents) if os.path.lexists(folder / ".git")), cwd)
    if not request.program_digest.startswith(_DIGEST) or not Path(request.program).is_relative_to(top):
        return ""
    return Path(os.path.relpath(request.program, cwd)).as_posix()


def _committed_digests(repo: Repo, request: CommandRequest, names: list[str]) -> set[str]:
    """Return the digests of the committed files that these names may mean.

    The position of the worktree's top in the folder's path is not known on every machine, so each part is tried. That
    is safe, as only content is compared.
    """
    parts = Path(request.cwd).parts[1:]
    below = ["/".join(parts[at:]) for at in range(len(parts) + 1)]
    wanted = {os.path.normpath(f"{folder}/{name}" if folder else name) for folder in below for name in names}
    try:
        with private_git(repo) as git:
            entries = list_tree_files(git, tree_of_commit(git, request.base)) if request.base else ()
            blobs = [entry.oid for entry in entries if entry.path in wanted and entry.mode != GITLINK]
            return {_digest_of(data) for data in read_blobs(git, blobs)} if blobs else set()
    except (GitFailed, NotFound):
        return set()  # the commit is not here: all of it counts as new


def _read_if_same(path: Path, digest: str, largest: int) -> bytes | None:
    with suppress(OSError, ValueError, RuntimeError):
        file = path.resolve(strict=True)
        if file.is_file() and file.stat().st_size <= largest:
            data = file.read_bytes()
            return data if _digest_of(data) == digest else None
    return None


def _digest_of(data: bytes) -> str:
    return f"{_DIGEST}{hashlib.sha256(data).hexdigest()}"


def attach_files(
    files: list[BoundFile], most: int, most_binary: int, missing: list[str]
) -> Iterator[tuple[str, bytes, bool]]:
    """Yield name, bytes and whether they are binary, as long as there is room; the others are added to `missing`."""
    room = {False: most, True: most_binary}
    for file in files:
        if file.data is None or len(file.data) > room[b"\0" in file.data]:
            missing.append(f"the content of {file.name} ({file.digest})")
            continue
        binary = b"\0" in file.data
        room[binary] -= len(file.data)
        yield f"file {file.name}", file.data, binary
