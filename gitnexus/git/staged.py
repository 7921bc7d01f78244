"""Lists the files that the commit being made would contain, from git's raw output. No diff text is parsed."""

import os
from dataclasses import dataclass
from pathlib import Path

from gitnexus.git.child import run_git, run_git_or_raise
from gitnexus.git.discovery import Repo
from gitnexus.git.refs import plain_head_commit

_EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A path that the commit changes; `old` and `new` are blob ids, None if absent."""

    path: str
    old: str | None
    new: str | None
    is_blob: bool


def staged_files(repo: Repo) -> list[StagedFile]:
    """Return the staged files of the index that git passed to the hook, or of the worktree's own index."""
    base = plain_head_commit(repo)
    if base is None:
        born = run_git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", git_dir=repo.git_dir)
        base = born.stdout.decode().strip() if born.returncode == 0 else _EMPTY_TREE[repo.object_format]
    index = os.environ.get("GIT_INDEX_FILE")
    env = {"GIT_INDEX_FILE": str(Path.cwd() / index)} if index else {}
    listed = run_git(
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
        run_git_or_raise("diff-index", "--cached", "--raw", base, "--", git_dir=repo.git_dir, cwd=repo.worktree)
    fields = listed.stdout.split(b"\0")[:-1]
    return [
        _parse_raw_row(head.decode(), os.fsdecode(path)) for head, path in zip(fields[::2], fields[1::2], strict=True)
    ]


def _parse_raw_row(head: str, path: str) -> StagedFile:
    _, mode, old, new, _ = head.split(" ")
    return StagedFile(path, _oid_or_none(old), _oid_or_none(new), mode in ("100644", "100755"))


def _oid_or_none(oid: str) -> str | None:
    return oid if oid.strip("0") else None
