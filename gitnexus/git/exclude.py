"""Adds `.nexus/` to and removes it from the repository's exclude file, so that `git status` hides it."""

from pathlib import Path

from gitnexus.base import blocks
from gitnexus.base.files import replace_file
from gitnexus.git.child import run_git
from gitnexus.git.discovery import Repo

_BODY = "/.nexus/\n"


def exclude_file(repo: Repo) -> Path:
    """Return the path of the exclude file, which all worktrees share."""
    return repo.common_dir / "info" / "exclude"


def add_exclude_block(repo: Repo) -> bool:
    """Exclude `.nexus/`; return True if it was not excluded before."""
    path = exclude_file(repo)
    before = _read_text_or_empty(path)
    # At the top, so that what comes after is the owner's, to the byte.
    after = blocks.with_block(before, _BODY, after_first_line=False)
    if after != before:
        replace_file(path, after.encode("utf-8", "surrogateescape"))
    return after != before


def remove_exclude_block(repo: Repo) -> bool:
    """Remove our lines from the exclude file; return True if they were there."""
    path = exclude_file(repo)
    before = _read_text_or_empty(path)
    after = blocks.without_block(before)
    if after != before:
        replace_file(path, after.encode("utf-8", "surrogateescape"))
    return after != before


def has_exclude_block(repo: Repo) -> bool:
    """Return True if our lines are in the exclude file; faster than `is_nexus_ignored`, which runs git."""
    return blocks.find_block(_read_text_or_empty(exclude_file(repo))) is not None


def is_nexus_ignored(repo: Repo) -> bool:
    """Return True if git reports `.nexus/` as ignored in this worktree."""
    asked = run_git("check-ignore", "-q", "--no-index", "--", ".nexus/memory", git_dir=repo.git_dir, cwd=repo.worktree)
    return asked.returncode == 0


def tracked_nexus_paths(repo: Repo) -> list[str]:
    """Return the paths below `.nexus/` that this worktree's index tracks."""
    if repo.worktree is None:
        return []
    found = run_git("ls-files", "-z", "--", ".nexus", git_dir=repo.git_dir, cwd=repo.worktree)
    return [name.decode("utf-8", "replace") for name in found.stdout.split(b"\0") if name]


def _read_text_or_empty(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
