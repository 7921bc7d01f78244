"""Resolves HEAD and names of commits to object ids without reading the repository's config."""

import re

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.git.child import run_git
from gitnexus.git.discovery import Repo
from gitnexus.git.private import PrivateGit
from gitnexus.git.refs import plain_head_commit, read_head_branch

# A branch, tag, ref or id, then steps back. No `:path`, no `@{…}`, no ranges, no `^{/words}`: those say more than
# "which commit", and some of them look into files.
_REVISION = re.compile(r"(?!-)(?!.*\.\.)([A-Za-z0-9][A-Za-z0-9._/+-]{0,199})((?:[~^]\d{0,4}){0,20})")


def resolve_head(repo: Repo, git: PrivateGit) -> str:
    """Return the commit that HEAD of this worktree points to. Raises: NotFound on a branch without a commit."""
    plain = plain_head_commit(repo)
    if plain is not None:
        return plain
    if (repo.common_dir / "reftable").is_dir():  # a linked worktree keeps its HEAD in tables of its own
        asked = run_git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", git_dir=repo.git_dir)
    else:
        asked = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if asked.returncode != 0:
        raise NotFound("there is no commit yet", hint="make a first commit")
    return asked.stdout.decode("ascii").strip()


def resolve_commit(repo: Repo, git: PrivateGit, revision: str) -> str:
    """Return the full id of the commit that `revision` names. Raises: Invalid, NotFound."""
    parts = _REVISION.fullmatch(revision)
    if parts is None:
        raise Invalid(
            f"{one_line(revision, 80)!r} does not name a commit",
            hint="a branch, a tag or an id, with ~2 or ^ after it if need be",
        )
    start = resolve_head(repo, git) if parts[1] == "HEAD" else parts[1]
    if not parts[2] and len(start) == len(git.zero) and (loose := git.read_loose(start)) and loose[0] == "commit":
        return start
    asked = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{start}{parts[2]}^{{commit}}")
    if asked.returncode != 0:
        raise NotFound(f"there is no commit {revision}")
    return asked.stdout.decode("ascii").split()[-1]


def head_branch_ref(repo: Repo) -> str:
    """Return the full name of the branch that is checked out here, empty for a detached HEAD."""
    branch = read_head_branch(repo.git_dir)
    if branch is not None:
        return f"refs/heads/{branch}" if branch else ""
    asked = run_git("symbolic-ref", "--quiet", "HEAD", git_dir=repo.git_dir)
    return asked.stdout.decode("utf-8", "replace").strip() if asked.returncode == 0 else ""
