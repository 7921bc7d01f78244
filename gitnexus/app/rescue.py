"""Bring the state ref back to the last commit that is whole, losing nothing that can still be read."""

from gitnexus.base.chance import token
from gitnexus.base.errors import NexusError
from gitnexus.git import Repo, open_objects
from gitnexus.git.child import run
from gitnexus.state import STATE_REF
from gitnexus.state.projection import projections_of


def is_whole(repo: Repo, commit: str) -> bool:
    """True if a commit and everything it holds can be read."""
    kind = run("cat-file", "-t", commit, git_dir=repo.common_dir)
    if kind.stdout.strip() != b"commit":
        return False
    return run("rev-list", "--objects", "--quiet", commit, "--", git_dir=repo.common_dir).returncode == 0


def rescue(repo: Repo) -> bool:
    """Put the ref at the newest whole commit that its reflog or a journal knows; what it was is kept in the trash."""
    good = next((commit for commit in _candidates(repo) if is_whole(repo, commit)), None)
    if good is None:
        return False
    _put_aside(repo)
    objects = open_objects(repo)
    try:
        old = objects.tip(STATE_REF)
        return objects.swap(STATE_REF, old, good, "doctor: back to the last whole commit")
    except NexusError:
        return False
    finally:
        objects.close()


def _candidates(repo: Repo) -> list[str]:
    """Return commits that the ref was at, the newest first."""
    found = []
    try:
        lines = (repo.common_dir / "logs" / STATE_REF).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in reversed(lines):
        found += [word for word in line.split("\t")[0].split(" ")[1::-1] if word.strip("0")]
    for projection in projections_of(repo):
        projection.journal.reload()
        if projection.journal.commit:
            found.append(projection.journal.commit)
    return list(dict.fromkeys(found))[:200]


def _put_aside(repo: Repo) -> None:
    """Move a loose ref that holds no id (a power cut leaves it empty, a link points elsewhere) into the trash."""
    loose = repo.common_dir / STATE_REF
    if not loose.is_file():
        return
    text = loose.read_text(encoding="utf-8", errors="replace").strip()
    if len(text) not in (40, 64) or not set(text) <= set("0123456789abcdef"):
        aside = repo.common_dir / "nexus" / "trash" / f"state-ref-{token(8)}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        loose.rename(aside)
