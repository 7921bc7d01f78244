"""`git nexus uninstall`: removes hooks, excludes and `.nexus/` from a repository; loses nothing."""

import shutil
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import NexusError
from gitnexus.base.files import replace_file
from gitnexus.git import Repo, discover, exclude, hookfiles, remotes
from gitnexus.git.child import run_git_or_raise
from gitnexus.policy.keys import keys_folder
from gitnexus.policy.pins import remove_pin
from gitnexus.projects.model import real_path
from gitnexus.projects.open_state import open_state
from gitnexus.projects.register import unregister_project
from gitnexus.projects.signed_permissions import guard_home
from gitnexus.runs.withheld import LOCAL
from gitnexus.state import STATE_REF, State
from gitnexus.state.home import open_home
from gitnexus.state.intake import settle_hand_edits
from gitnexus.state.locate import LOCK, UNINSTALLED
from gitnexus.state.projection import Projection


@dataclass(slots=True)
class UninstallResult:
    """What was removed, the new location of the folders, and what was kept."""

    changes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    parked: list[str] = field(default_factory=list)


def uninstall_project(repo: Repo, *, purge: bool) -> UninstallResult:
    """Remove hooks, excludes, `.nexus/` and the registration; with `purge` also the refs."""
    state = open_state(repo)
    removed = UninstallResult()
    try:
        if state.exists:
            _settle_everywhere(state)
        gone = (
            hookfiles.uninstall_hooks(repo) if repo.worktree is not None or hookfiles.shim_file(repo).exists() else []
        )
        if gone:
            removed.changes.append(f"removed git hooks: {', '.join(gone)}")
        _remove_harnesses(state, removed)
        _trash_checkouts(state, removed)
        if exclude.remove_exclude_block(repo):
            removed.changes.append("removed the lines of git nexus from info/exclude")
        remotes.unshield_refs_from_fetch(repo)
        _unregister_project(repo, removed)
        _delete_refs(state, removed, purge)
        _forget_keys(repo, removed, purge)
        # The lock is the mark by which hooks know a project; the state ref alone means a new clone of one.
        if purge:
            (repo.common_dir / UNINSTALLED).unlink(missing_ok=True)
        else:
            replace_file(repo.common_dir / UNINSTALLED, b"", 0o600)
        (repo.common_dir / LOCK).unlink(missing_ok=True)
    finally:
        state.close()
    return removed


def _settle_everywhere(state: State) -> None:
    """Import hand edits in every worktree before the folders are removed."""
    for projection in state.projections:
        here = open_state(projection.worktree.path)
        settle_hand_edits(here)
        here.close()


def _remove_harnesses(state: State, removed: UninstallResult) -> None:
    """Remove our part from the programs' files in every worktree."""
    from gitnexus.app.harness_install import (
        remove_all_harnesses,  # only where something was installed does this find anything
    )

    for projection in state.projections:
        done, notes = remove_all_harnesses(discover(projection.worktree.path))
        removed.changes += done
        removed.notes += notes


def _trash_checkouts(state: State, removed: UninstallResult) -> None:
    """Move each `.nexus/` into the trash, so that content that was never on the ref can be restored."""
    for projection in state.projections:
        if not projection.root.is_dir() or projection.root.is_symlink() or not projection.journal.exists:
            continue
        target = _trash_path(state.repo, utc_now(), projection)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(projection.root, target)
        projection.journal.forget()
        removed.parked.append(str(target))
        removed.changes.append(f"moved {projection.root} to {target}")


def _trash_path(repo: Repo, moment: datetime, projection: Projection) -> Path:
    return repo.common_dir / "nexus" / "trash" / f"{moment:%Y%m%dT%H%M%S%f}-{projection.worktree.path.name}"


def _unregister_project(repo: Repo, removed: UninstallResult) -> None:
    home = open_home()
    if home is None:
        return
    try:
        gone = unregister_project(guard_home(home), real_path(repo.main_folder), utc_now())
        if gone is not None:
            removed.changes.append(f"unregistered {gone.name}")
    except NexusError as exc:
        removed.notes.append(f"still registered: {exc.message}")
    finally:
        home.close()


def _forget_keys(repo: Repo, removed: UninstallResult, purge: bool) -> None:
    if purge:
        from gitnexus.policy.ledger import Ledger

        if remove_pin(repo.common_dir):
            removed.changes.append("removed the record of trusted approvers and used tokens")
        Ledger(repo.common_dir).forget()
    if keys_folder().is_dir():
        removed.notes.append(f"your approver key stays in {keys_folder()}: other projects know it")


def _delete_refs(state: State, removed: UninstallResult, purge: bool) -> None:
    listed = run_git_or_raise(
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/nexus/",
        "refs/nexus-sync/",
        git_dir=state.repo.common_dir,
    ).decode()
    refs = [tuple(line.split(" ")) for line in listed.splitlines()]
    if not refs:
        return
    if not purge:
        removed.notes.append(f"the state itself stays on {STATE_REF}: git nexus init brings everything back")
        return
    for name, oid in refs:
        if state.objects.swap(name, oid, None, "uninstall"):
            removed.changes.append(f"deleted {name} (it was at {oid})")
    remotes.remove_hidden_refs(state.repo, LOCAL.rstrip("/"))  # only now: a ref that stays is hidden as before
    removed.notes.append("until git gc removes them, git update-ref can restore the commits named above")
