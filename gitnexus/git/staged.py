"""What a commit that is being made would contain, as git's own raw list: no diff text is parsed."""

import os
from dataclasses import dataclass
from pathlib import Path

from gitnexus.git.child import must, run
from gitnexus.git.discovery import Repo
from gitnexus.git.refs import plain_head_of

_EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A path that the commit changes; `old` and `new` are blob ids, None where there is none."""

    path: str
    old: str | None
    new: str | None
    is_blob: bool


def staged(repo: Repo) -> list[StagedFile]:
    """Return what is staged in the index that git named to the hook, or in the worktree's own."""
    base = plain_head_of(repo)
    if base is None:
        born = run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", git_dir=repo.git_dir)
        base = born.stdout.decode().strip() if born.returncode == 0 else _EMPTY_TREE[repo.object_format]
    index = os.environ.get("GIT_INDEX_FILE")
    env = {"GIT_INDEX_FILE": str(Path.cwd() / index)} if index else {}
    listed = run(
        "diff-index",
        "--cached",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "--ignore-submodules=none",
        base,
        "--",
        git_dir=repo.git_dir,
        cwd=repo.worktree,
        env=env,
    )
    if listed.returncode != 0:
        must("diff-index", "--cached", "--raw", base, "--", git_dir=repo.git_dir, cwd=repo.worktree)
    fields = listed.stdout.split(b"\0")[:-1]
    return [_row(head.decode(), os.fsdecode(path)) for head, path in zip(fields[::2], fields[1::2], strict=True)]


def _row(head: str, path: str) -> StagedFile:
    _, mode, old, new, _ = head.split(" ")
    return StagedFile(path, _real(old), _real(new), mode in ("100644", "100755"))


def _real(oid: str) -> str | None:
    return oid if oid.strip("0") else None
