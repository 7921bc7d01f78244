"""Branches that we move ourselves, by compare-and-swap; and what lies at their tip."""

from gitnexus.git.child import GitFailed, must, run
from gitnexus.git.discovery import Repo
from gitnexus.git.refs import read_head_branch, read_tip


def moved(repo: Repo, ref: str, old: str, new: str, why: str) -> bool:
    """Move a branch from `old` to `new`, or return False because it is elsewhere. Raises: GitFailed."""
    done = run("update-ref", "--create-reflog", "-m", why.splitlines()[0], ref, new, old, git_dir=repo.common_dir)
    if done.returncode == 0:
        return True
    if tip(repo, ref) != old:
        return False
    raise GitFailed(f"git could not move {ref}: {done.stderr.decode('utf-8', 'replace').strip()}")


def tip(repo: Repo, ref: str) -> str | None:
    """Return the commit that a ref names, None if there is none."""
    return read_tip(repo.common_dir, ref, repo.object_format)


def raw_of(repo: Repo, commit: str) -> bytes:
    """Return the bytes of a commit. Raises: GitFailed."""
    return must("cat-file", "commit", commit, git_dir=repo.common_dir)


def current(repo: Repo) -> str:
    """Return the branch that is checked out, as people write it, empty for none."""
    branch = read_head_branch(repo.git_dir)
    if branch is not None:
        return branch
    asked = run("symbolic-ref", "--quiet", "--short", "HEAD", git_dir=repo.git_dir)
    return asked.stdout.decode("utf-8", "replace").strip() if asked.returncode == 0 else ""
