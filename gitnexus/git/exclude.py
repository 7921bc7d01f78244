"""`.nexus/` in the repository's own exclude file: hidden from `git status` without touching a tracked file."""

from pathlib import Path

from gitnexus.base import blocks
from gitnexus.base.files import replace
from gitnexus.git.child import run
from gitnexus.git.discovery import Repo

_BODY = "/.nexus/\n"


def exclude_file(repo: Repo) -> Path:
    """Return the file; one for all worktrees."""
    return repo.common_dir / "info" / "exclude"


def add(repo: Repo) -> bool:
    """Exclude `.nexus/`; True if that was new."""
    path = exclude_file(repo)
    before = _read(path)
    # At the top, so that what comes after is the owner's, to the byte.
    after = blocks.with_block(before, _BODY, after_first_line=False)
    if after != before:
        replace(path, after.encode("utf-8", "surrogateescape"))
    return after != before


def remove(repo: Repo) -> bool:
    """Take our lines out; True if they were there."""
    path = exclude_file(repo)
    before = _read(path)
    after = blocks.without(before)
    if after != before:
        replace(path, after.encode("utf-8", "surrogateescape"))
    return after != before


def is_listed(repo: Repo) -> bool:
    """True if our lines are in the exclude file; `is_ignored` asks git itself, and takes longer."""
    return blocks.found(_read(exclude_file(repo))) is not None


def is_ignored(repo: Repo) -> bool:
    """True if git itself says that `.nexus/` is ignored in this worktree."""
    asked = run("check-ignore", "-q", "--no-index", "--", ".nexus/memory", git_dir=repo.git_dir, cwd=repo.worktree)
    return asked.returncode == 0


def tracked(repo: Repo) -> list[str]:
    """Return the paths below `.nexus/` that this worktree's index tracks."""
    if repo.worktree is None:
        return []
    found = run("ls-files", "-z", "--", ".nexus", git_dir=repo.git_dir, cwd=repo.worktree)
    return [name.decode("utf-8", "replace") for name in found.stdout.split(b"\0") if name]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
