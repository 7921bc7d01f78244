"""Adds, fills and empties the worktree of a run: no hook or filter runs, and it is locked against worktree pruning."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from gitnexus.base.errors import Conflict, Failed
from gitnexus.base.files import make_private_folder, remove_tree, replace_file, sync_file
from gitnexus.git.child import git_error_line, run_git
from gitnexus.git.discovery import Repo
from gitnexus.git.file_stamps import Stamps, parse_index_stamps
from gitnexus.git.git_folders import read_git_folder
from gitnexus.git.locks import change_refs
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.refs import read_tip
from gitnexus.git.worktrees import RUN_BRANCHES, Worktree

# What git needs to know a worktree.
_ADMIN = ("gitdir", "HEAD", "commondir")
Meanwhile = Callable[[], object]


def add_worktree(
    repo: Repo, place: Path, branch: str, base: str, mark: str, meanwhile: Meanwhile | None = None
) -> Stamps:
    """Create the branch at `base` and a worktree on it at `place`; return the stamps of the files written there.

    Continues an attempt that was killed. `meanwhile` is called while git writes the files.
    Raises: Conflict, Failed, GitFailed.
    """
    tip = read_tip(repo.common_dir, branch, repo.object_format)
    if tip is None:
        change_refs("update-ref", "--create-reflog", branch, base, "0" * len(base), git_dir=repo.common_dir)
    elif tip != base:
        raise Conflict(f"the branch {branch.removeprefix('refs/heads/')} already exists")
    _mend_link(repo, place)
    git_dir = _admin_folder(repo, place)
    if git_dir is None:
        _remove_half_added(repo, place)
        make_private_folder(place.parent)
        if place.exists() and (place.is_symlink() or not place.is_dir() or any(place.iterdir())):
            raise Conflict(f"{place} already exists", hint="move it away")
        _link_worktree(repo, place, branch)
        git_dir = _admin_folder(repo, place)
        if git_dir is None:
            raise Failed(f"the worktree at {place} is not where it should be")
    _mend_head(git_dir, branch)
    found = Repo(git_dir, repo.common_dir, place, repo.object_format)
    replace_file(Worktree(place, git_dir, is_linked=True).run_mark, f"{mark}\n".encode())
    return fill_worktree(found, base, meanwhile)


def is_worktree_filled(repo: Repo) -> bool:
    """Return True if a worktree was filled completely. Its index is written last."""
    return (repo.git_dir / "index").exists()


def empty_worktree(repo: Repo, aside: Path) -> None:
    """Move all files of a worktree into another folder, so that nothing is lost. Raises: Failed."""
    if repo.worktree is None:
        raise Failed("a bare repository has no files")
    try:
        aside.mkdir(parents=True, mode=0o700)
        for path in sorted(repo.worktree.iterdir()):
            if path.name != ".git":
                shutil.move(path, aside / path.name)
    except OSError as exc:
        raise Failed(f"what lies in {repo.worktree} could not be moved away: {exc.strerror}") from exc


def fill_worktree(repo: Repo, commit: str, meanwhile: Meanwhile | None = None) -> Stamps:
    """Write the files of a commit into an empty or partly filled worktree, byte for byte, and then its index."""
    with private_git(repo) as git:
        git.must("read-tree", commit)
        _check_out_index(git, repo, meanwhile)
        try:
            index = (git.folder / "index").read_bytes()
        except FileNotFoundError:
            return {}
        replace_file(repo.git_dir / "index", index)
        return parse_index_stamps(index, len(git.zero) // 2, time.time_ns())


def reset_index_to_tree(repo: Repo, tree: str) -> None:
    """Set the index of a run's worktree to a tree whose files are already on disk."""
    with private_git(repo) as git:
        git.must("read-tree", tree)
        git.run(*_work_tree_options(repo), "update-index", "-q", "--refresh")
        index = repo.git_dir / "index"
        shutil.copyfile(git.folder / "index", index.with_name("index.nexus"))
        index.with_name("index.nexus").replace(index)


def _check_out_index(git: PrivateGit, repo: Repo, meanwhile: Meanwhile | None) -> None:
    done = git.run(
        *_work_tree_options(repo), "checkout-index", "--all", "--force", "--quiet", "-u", meanwhile=meanwhile
    )
    if done.returncode != 0:
        raise Failed(f"the files of the worktree could not be written: {git_error_line(done.stderr)}")


def _work_tree_options(repo: Repo) -> tuple[str, ...]:
    return ("-c", "core.bare=false", f"--work-tree={repo.worktree}")


def _link_worktree(repo: Repo, place: Path, branch: str) -> None:
    """Create git's admin folder of a worktree and the `.git` file that names it. Raises: Failed.

    `git worktree add` writes a HEAD of zeros first: killed there, it makes every later `git fetch` fail. So the admin
    folder is written aside and renamed, unless it holds more than the four files that every git reads.
    """
    if (repo.common_dir / "reftable").is_dir() or (repo.common_dir / "config.worktree").exists():
        short = branch.removeprefix("refs/heads/")
        argv = ("worktree", "add", "--lock", "--no-checkout", "--quiet", str(place), short)
        done = run_git(*argv, git_dir=repo.common_dir)
        if done.returncode != 0:
            raise Failed(f"git could not add a worktree: {git_error_line(done.stderr)}")
        return
    admin = repo.common_dir.resolve() / "worktrees" / place.name
    aside = repo.common_dir / "nexus" / "worktrees" / place.name
    files = {
        "HEAD": b"ref: %s\n" % os.fsencode(branch),
        "commondir": b"../..\n",
        "gitdir": os.fsencode(place / ".git") + b"\n",
        "locked": b"used by git nexus\n",
    }
    try:
        remove_tree(aside)
        aside.mkdir(parents=True)
        for name, content in files.items():
            (aside / name).write_bytes(content)
            sync_file(aside / name)  # emptied by a power cut, they would leave a folder that no git knows
        place.mkdir(exist_ok=True)
        replace_file(place / ".git", b"gitdir: %s\n" % os.fsencode(admin))
        admin.parent.mkdir(exist_ok=True)
        aside.rename(admin)
    except OSError as exc:
        raise Failed(f"the worktree at {place} could not be added: {exc.strerror}") from exc


def mend_worktree_heads(repo: Repo) -> None:
    """Write the branch into the HEAD of every worktree of a run whose `git worktree add` was killed before it did."""
    try:
        names = os.listdir(repo.common_dir / "worktrees")
    except OSError:
        return
    for name in names:
        head = repo.common_dir / "worktrees" / name / "HEAD"
        try:
            is_unset = not head.read_bytes().strip(b"0\n")
        except OSError:
            continue
        if is_unset and read_tip(repo.common_dir, f"{RUN_BRANCHES}{name}", repo.object_format) is not None:
            replace_file(head, b"ref: %s\n" % os.fsencode(f"{RUN_BRANCHES}{name}"))


def _admin_folder(repo: Repo, place: Path) -> Path | None:
    """Return git's admin folder of the worktree at `place`, if each of the two points to the other."""
    try:
        git_dir = Path(read_git_folder(str(place)))
    except OSError:
        return None
    inside = git_dir.parent == (repo.common_dir / "worktrees").resolve()
    return git_dir if inside and _is_admin_whole(git_dir) else None


def _is_admin_whole(git_dir: Path) -> bool:
    """Return True if git wrote every file of a new admin folder; the last one is `commondir`."""
    return all(is_not_empty(git_dir / name) for name in _ADMIN)


def is_worktree_linked(repo: Repo, place: Path) -> bool:
    """Return True if a worktree and git's folder for it name each other; a kill or a power cut may leave half of it."""
    files = [place / ".git", *(repo.common_dir / "worktrees" / place.name / name for name in _ADMIN)]
    return all(is_not_empty(file) for file in files)


def is_not_empty(file: Path) -> bool:
    """Return True if there is a file, and something in it."""
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def _mend_head(git_dir: Path, branch: str) -> None:
    """Write the branch into HEAD if a killed `git worktree add` did not; until then HEAD is all zeros."""
    head = git_dir / "HEAD"
    if not head.read_bytes().strip(b"0\n"):
        (git_dir / "HEAD.lock").unlink(missing_ok=True)
        replace_file(head, b"ref: %s\n" % os.fsencode(branch))


def _mend_link(repo: Repo, place: Path) -> None:
    """Rewrite the `.git` file of a worktree if only that is missing or empty; other files may be somebody's work."""
    known = repo.common_dir / "worktrees" / place.name
    if _is_admin_whole(known) and place.is_dir() and any(place.iterdir()) and not is_not_empty(place / ".git"):
        replace_file(place / ".git", b"gitdir: %s\n" % os.fsencode(known))


def set_unlinked_aside(repo: Repo, place: Path, aside: Path) -> None:
    """Move away a worktree's folder that no git knows any more, as a power cut leaves it. Raises: OSError."""
    admin = repo.common_dir / "worktrees" / place.name
    is_cut = os.path.lexists(place / ".git") and not is_not_empty(place / ".git")
    if is_cut and not _is_admin_whole(admin) and not place.is_symlink():
        aside.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(place, aside)


def _remove_half_added(repo: Repo, place: Path) -> None:
    """Remove what a killed `git worktree add` left behind; otherwise git would give the next worktree another name."""
    half = repo.common_dir / "worktrees" / place.name
    if not os.path.lexists(place / ".git") or not _is_admin_whole(half):
        remove_tree(half)
        for half_written in place.glob("..git.*.tmp") if place.is_dir() else ():
            half_written.unlink(missing_ok=True)
        if place.is_dir() and [path.name for path in place.iterdir()] == [".git"] and (place / ".git").is_file():
            (place / ".git").unlink()
