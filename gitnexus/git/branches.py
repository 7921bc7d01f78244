"""Moves branches by compare-and-swap; reads the tips of refs, a raw commit and the name of the current branch."""

from gitnexus.git.child import GitFailed, run_git, run_git_or_raise
from gitnexus.git.discovery import Repo
from gitnexus.git.locks import run_on_refs
from gitnexus.git.refs import read_head_branch, read_tip


def move_branch(repo: Repo, ref: str, old: str, new: str, why: str) -> bool:
    """Move a branch from `old` to `new`; return False if it is not at `old`. Raises: GitFailed."""
    argv = ("update-ref", "--create-reflog", "-m", why.splitlines()[0], ref, new, old)
    done = run_on_refs(*argv, git_dir=repo.common_dir)
    if done.returncode == 0:
        return True
    if tip_of_ref(repo, ref) != old:
        return False
    raise GitFailed(f"git could not move {ref}: {done.stderr.decode('utf-8', 'replace').strip()}")


def tip_of_ref(repo: Repo, ref: str) -> str | None:
    """Return the commit that a ref points to, or None if the ref does not exist."""
    return read_tip(repo.common_dir, ref, repo.object_format)


def list_refs(repo: Repo, *prefixes: str) -> dict[str, str]:
    """Return all refs below `prefixes` with the objects they point to, by one git child. Raises: GitFailed."""
    listed = run_git_or_raise("for-each-ref", "--format=%(objectname) %(refname)", *prefixes, git_dir=repo.common_dir)
    rows = (line.split(" ", 1) for line in listed.decode("utf-8", "replace").splitlines())
    return {ref: oid for oid, ref in rows}


def read_raw_commit(repo: Repo, commit: str) -> bytes:
    """Return the bytes of a commit. Raises: GitFailed."""
    return run_git_or_raise("cat-file", "commit", commit, git_dir=repo.common_dir)


def current_branch(repo: Repo) -> str:
    """Return the short name of the branch that is checked out, or an empty string for a detached HEAD."""
    branch = read_head_branch(repo.git_dir)
    if branch is not None:
        return branch
    asked = run_git("symbolic-ref", "--quiet", "--short", "HEAD", git_dir=repo.git_dir)
    return asked.stdout.decode("utf-8", "replace").strip() if asked.returncode == 0 else ""
