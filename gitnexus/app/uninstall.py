"""Take git nexus out of a repository, leaving the rest as it was and losing nothing."""

import shutil
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gitnexus.app.homeseal import guarded
from gitnexus.app.keepers import open_state
from gitnexus.base.clock import now
from gitnexus.base.errors import NexusError
from gitnexus.git import Repo, discover, exclude, hookfiles, remotes
from gitnexus.git.child import must
from gitnexus.policy.keys import keys_folder
from gitnexus.policy.pins import unpin
from gitnexus.projects.model import real
from gitnexus.projects.register import unregister
from gitnexus.state import STATE_REF, State
from gitnexus.state.home import open_home
from gitnexus.state.intake import settle
from gitnexus.state.projection import Projection


@dataclass(slots=True)
class Removed:
    """What went, where the folders lie now, and what stayed."""

    changes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    parked: list[str] = field(default_factory=list)


def remove(repo: Repo, *, purge: bool) -> Removed:
    """Remove hooks, excludes, `.nexus/` and the registration; with `purge` also the refs."""
    state = open_state(repo)
    removed = Removed()
    try:
        if state.exists:
            _settle_everywhere(state)
        gone = hookfiles.uninstall(repo) if repo.worktree is not None or hookfiles.shim_file(repo).exists() else []
        if gone:
            removed.changes.append(f"removed git hooks: {', '.join(gone)}")
        _harnesses(state, removed)
        _park(state, removed)
        if exclude.remove(repo):
            removed.changes.append("removed our lines from info/exclude")
        remotes.unshield(repo)
        _unregister(repo, removed)
        _refs(state, removed, purge)
        _keys(repo, removed, purge)
        # The mark by which the hook shim knows a project.
        (repo.common_dir / "nexus" / "lock").unlink(missing_ok=True)
    finally:
        state.close()
    return removed


def _settle_everywhere(state: State) -> None:
    """Take in what was edited by hand, in every worktree, before the folders go."""
    for projection in state.projections:
        here = open_state(projection.worktree.path)
        settle(here)
        here.close()


def _harnesses(state: State, removed: Removed) -> None:
    """Take our part out of the files that programs read, in every worktree."""
    from gitnexus.app.harness import remove_all  # only where something was installed does this find anything

    for projection in state.projections:
        done, notes = remove_all(discover(projection.worktree.path))
        removed.changes += done
        removed.notes += notes


def _park(state: State, removed: Removed) -> None:
    """Rename each `.nexus/` into the trash: also what was never on the ref can be fetched back."""
    for projection in state.projections:
        if not projection.root.is_dir() or projection.root.is_symlink() or not projection.journal.exists:
            continue
        target = _trash(state.repo, now(), projection)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(projection.root, target)
        projection.journal.forget()
        removed.parked.append(str(target))
        removed.changes.append(f"moved {projection.root} to {target}")


def _trash(repo: Repo, moment: datetime, projection: Projection) -> Path:
    return repo.common_dir / "nexus" / "trash" / f"{moment:%Y%m%dT%H%M%S%f}-{projection.worktree.path.name}"


def _unregister(repo: Repo, removed: Removed) -> None:
    home = open_home()
    if home is None:
        return
    try:
        gone = unregister(guarded(home), real(repo.main_place), now())
        if gone is not None:
            removed.changes.append(f"unregistered {gone.name}")
    except NexusError as exc:
        removed.notes.append(f"still registered: {exc.message}")
    finally:
        home.close()


def _keys(repo: Repo, removed: Removed, purge: bool) -> None:
    if purge:
        from gitnexus.policy.ledger import Ledger

        if unpin(repo.common_dir):
            removed.changes.append("forgot whose approvals count here, and which are spent")
        Ledger(repo.common_dir).forget()
    if keys_folder().is_dir():
        removed.notes.append(f"your approver key stays in {keys_folder()}: other projects know it")


def _refs(state: State, removed: Removed, purge: bool) -> None:
    listed = must(
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
    removed.notes.append("until git gc the commits named above can still be given a ref again")
