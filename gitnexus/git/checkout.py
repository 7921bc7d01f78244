"""A worktree of its own for a run: added without hooks, filled without filters, locked against git's own pruning."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from gitnexus.base.errors import Conflict, Failed
from gitnexus.base.files import make_private_folder, remove_tree, replace
from gitnexus.git.child import must, reason, run
from gitnexus.git.discovery import Repo
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.refs import read_tip
from gitnexus.git.stamps import Stamps, stamps
from gitnexus.git.worktrees import Worktree

Meanwhile = Callable[[], object]


def added(repo: Repo, place: Path, branch: str, base: str, mark: str, meanwhile: Meanwhile | None = None) -> Stamps:
    """Make the branch at `base` and a worktree on it at `place`; return the files as they were put down there.

    What is there already from an attempt that was killed is taken up. `meanwhile` is done while git writes the files.
    Raises: Conflict, Failed, GitFailed.
    """
    tip = read_tip(repo.common_dir, branch, repo.object_format)
    if tip is None:
        must("update-ref", "--create-reflog", branch, base, "0" * len(base), git_dir=repo.common_dir)
    elif tip != base:
        raise Conflict(f"the branch {branch.removeprefix('refs/heads/')} is there already")
    _mend_link(repo, place)
    git_dir = _admin(repo, place)
    if git_dir is None:
        _forget_half(repo, place)
        make_private_folder(place.parent)
        if place.exists() and (place.is_symlink() or not place.is_dir() or any(place.iterdir())):
            raise Conflict(f"{place} is there already", hint="move it away")
        short = branch.removeprefix("refs/heads/")
        argv = ("worktree", "add", "--lock", "--no-checkout", "--quiet", str(place), short)
        done = run(*argv, git_dir=repo.common_dir)
        if done.returncode != 0:
            raise Failed(f"git could not add a worktree: {reason(done.stderr)}")
        git_dir = _admin(repo, place)
        if git_dir is None:
            raise Failed(f"the worktree at {place} is not where it should be")
    _mend_head(git_dir, branch)
    found = Repo(git_dir, repo.common_dir, place, repo.object_format)
    replace(Worktree(place, git_dir, is_linked=True).run_mark, f"{mark}\n".encode())
    return filled(found, base, meanwhile)


def is_filled(repo: Repo) -> bool:
    """True if a worktree was filled to its end: its index is written last."""
    return (repo.git_dir / "index").exists()


def emptied(repo: Repo, aside: Path) -> None:
    """Move all that lies in a worktree into a folder elsewhere: nothing of it is lost. Raises: Failed."""
    if repo.worktree is None:
        raise Failed("a bare repository has no files")
    try:
        aside.mkdir(parents=True, mode=0o700)
        for path in sorted(repo.worktree.iterdir()):
            if path.name != ".git":
                shutil.move(path, aside / path.name)
    except OSError as exc:
        raise Failed(f"what lies in {repo.worktree} could not be moved away: {exc.strerror}") from exc


def filled(repo: Repo, commit: str, meanwhile: Meanwhile | None = None) -> Stamps:
    """Put the files of a commit into an empty or half filled worktree, bytes as they are, and its index beside."""
    with private(repo) as git:
        git.must("read-tree", commit)
        _checked_out(git, repo, meanwhile)
        try:
            index = (git.folder / "index").read_bytes()
        except FileNotFoundError:
            return {}
        replace(repo.git_dir / "index", index)
        return stamps(index, len(git.zero) // 2, time.time_ns())


def indexed(repo: Repo, tree: str) -> None:
    """Bring the index of a run's worktree to a tree whose files lie there already."""
    with private(repo) as git:
        git.must("read-tree", tree)
        git.run(*_work_tree(repo), "update-index", "-q", "--refresh")
        index = repo.git_dir / "index"
        shutil.copyfile(git.folder / "index", index.with_name("index.nexus"))
        index.with_name("index.nexus").replace(index)


def _checked_out(git: PrivateGit, repo: Repo, meanwhile: Meanwhile | None) -> None:
    done = git.run(*_work_tree(repo), "checkout-index", "--all", "--force", "--quiet", "-u", meanwhile=meanwhile)
    if done.returncode != 0:
        raise Failed(f"the files of the worktree could not be written: {reason(done.stderr)}")


def _work_tree(repo: Repo) -> tuple[str, ...]:
    return ("-c", "core.bare=false", f"--work-tree={repo.worktree}")


def _admin(repo: Repo, place: Path) -> Path | None:
    """Return where git keeps the worktree at `place`, if both sides know of each other."""
    try:
        text = (place / ".git").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    named = Path(text.removeprefix("gitdir: ").rstrip("\n"))
    git_dir = (place / named).resolve()
    inside = git_dir.parent == (repo.common_dir / "worktrees").resolve()
    return git_dir if inside and _is_whole(git_dir) else None


def _is_whole(git_dir: Path) -> bool:
    """True if git wrote all that it begins with; the last of it is `commondir`."""
    try:
        return all(os.path.lexists(git_dir / name) for name in ("gitdir", "HEAD")) and bool(
            (git_dir / "commondir").read_bytes().strip()
        )
    except OSError:
        return False


def _mend_head(git_dir: Path, branch: str) -> None:
    """Name the branch where a killed `git worktree add` did not come to it: until then its HEAD is all zeros."""
    head = git_dir / "HEAD"
    if not head.read_bytes().strip(b"0\n"):
        (git_dir / "HEAD.lock").unlink(missing_ok=True)
        replace(head, b"ref: %s\n" % os.fsencode(branch))


def _mend_link(repo: Repo, place: Path) -> None:
    """Write the file `.git` of a worktree anew where only that is gone: what else lies there is somebody's work."""
    known = repo.common_dir / "worktrees" / place.name
    if _is_whole(known) and place.is_dir() and any(place.iterdir()) and not os.path.lexists(place / ".git"):
        replace(place / ".git", b"gitdir: %s\n" % os.fsencode(known))


def _forget_half(repo: Repo, place: Path) -> None:
    """Remove what a killed `git worktree add` left: else git would give the next one another name."""
    half = repo.common_dir / "worktrees" / place.name
    if not os.path.lexists(place / ".git") or not _is_whole(half):
        remove_tree(half)
        if place.is_dir() and [path.name for path in place.iterdir()] == [".git"] and (place / ".git").is_file():
            (place / ".git").unlink()
