"""Opens a project for a command: its repository, its state, and notices about `.nexus/`."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gitnexus.base.errors import Busy, Failed, NexusError
from gitnexus.git import GitFailed, Repo, discover
from gitnexus.git.lock_notes import notes_of_dead
from gitnexus.git.maintenance import pack_if_many
from gitnexus.projects import Project, Registry, hash_of, read_registry
from gitnexus.projects.model import default_name, real_path
from gitnexus.projects.open_state import open_state
from gitnexus.state import State
from gitnexus.state.home import open_home
from gitnexus.state.intake import SettleResult, settle_hand_edits


@dataclass
class Nexus:
    """The open project that a command works with; close it to release git resources."""

    state: State
    settled: SettleResult = field(default_factory=SettleResult)
    opened_at: str | None = None  # the commit of the state before this command

    @property
    def repo(self) -> Repo:
        """The repository, seen from the folder in which the command was called."""
        return self.state.repo

    @cached_property
    def registered(self) -> Project | None:
        """This project's row in the registry; None also if the registry cannot be read."""
        return registry_row_at(self.repo)

    def described(self) -> dict[str, str]:
        """Return the project's fields for the JSON envelope."""
        return _describe_repo(self.repo, self.registered)

    @property
    def notices(self) -> list[str]:
        """Notices about `.nexus/` for the user, one line each."""
        return settle_notices(self.settled)

    def close(self) -> None:
        """Release git resources; after a change, pack loose objects if there are many."""
        if self.state.snapshot.commit != self.opened_at:
            pack_if_many(self.repo)
        self.state.close()


def open_nexus(place: Path, *, inherit: bool = True) -> Nexus:
    """Open the project at `place` and commit edits made by hand; `inherit` as in `discover`. Raises: NotFound."""
    repo = discover(place, inherit=inherit)
    state = open_state(repo)
    try:
        if not state.exists:
            lost = lost_tip(state)
            if lost:
                raise Failed(
                    f"the state ref is gone; it was at {lost[:12]} when this worktree last saw it",
                    hint="git nexus doctor --fix brings it back",
                    fix="git nexus doctor --fix",
                )
        state.required()
        if any(notes_of_dead(repo.common_dir)):
            from gitnexus.git.locks import break_locks_of_killed  # only where a killed process left a note

            break_locks_of_killed(repo.common_dir)
        opened_at = state.snapshot.commit
        return Nexus(state, settle_or_postpone(state), opened_at)
    except BaseException:
        state.close()
        raise


def settle_or_postpone(state: State) -> SettleResult:
    """Commit edits made by hand; if nothing can be written now, postpone that, so that a reader can continue."""
    try:
        return settle_hand_edits(state)
    except (Busy, GitFailed, OSError) as exc:
        why = exc.message if isinstance(exc, NexusError) else exc.strerror or str(exc)
        return SettleResult(postponed=why)


def describe_project(repo: Repo) -> dict[str, str]:
    """Return a repository's project for the JSON envelope, initialised or not."""
    return _describe_repo(repo, registry_row_at(repo))


def describe_project_at(path: str) -> dict[str, str]:
    """Return the project at a real path for the JSON envelope."""
    return _project_fields(path, _registry_row(path))


def registry_row_at(repo: Repo) -> Project | None:
    """Return a repository's row in the registry; None also if the registry cannot be read."""
    return _registry_row(real_path(repo.main_folder))


def own_names(repo: Repo) -> frozenset[str]:
    """Return the names of this project: the registered ones, or its folder's name if no other project has it."""
    path = real_path(repo.main_folder)
    registry = _read_registry_or_empty()
    row = registry.at(path)
    if row is not None:
        return frozenset([row.name, *row.aliases])
    name = default_name(Path(path))
    return frozenset([name] if registry.owner(name) is None else [])


def _registry_row(path: str) -> Project | None:
    return _read_registry_or_empty().at(path)


def _read_registry_or_empty() -> Registry:
    """Return the registry, empty if it cannot be read: that must not stop work on this project."""
    home = open_home()
    if home is None:
        return Registry()
    try:
        return read_registry(home.snapshot)
    except NexusError:
        return Registry()
    finally:
        home.close()


def _describe_repo(repo: Repo, row: Project | None) -> dict[str, str]:
    return _project_fields(real_path(repo.main_folder), row)


def _project_fields(path: str, row: Project | None) -> dict[str, str]:
    return {"name": row.name if row else default_name(Path(path)), "hash": hash_of(path), "path": path}


def lost_tip(state: State) -> str | None:
    """Return the last known commit of a state whose ref was deleted, if git still has it."""
    for projection in state.projections:
        projection.journal.reload()
        commit = projection.journal.commit
        if commit is not None:
            try:
                state.objects.tree_of(commit)
            except NexusError:
                continue
            # Another process may have made the ref, and then the journal, since the ref was read.
            return commit if state.latest().commit is None else None
    return None


def settle_notices(settled: SettleResult) -> list[str]:
    """Return sentences that say what happened to `.nexus/`."""
    said = []
    if settled.tracked:
        return [".nexus/ is tracked on this branch: its files are left alone, state is read from refs/nexus/state"]
    if settled.taken:
        named = settled.taken[0] if len(settled.taken) == 1 else f"{len(settled.taken)} files"
        said.append(f"committed your edits in .nexus/: {named}")
    for path in settled.kept:
        said.append(f"both sides changed {path.rpartition('.mine-')[0]}: yours is kept in .nexus/{path}")
    for path, why in list(settled.held.items())[:5]:
        said.append(f".nexus/{path} is left as it is: {why}")
    if len(settled.held) > 5:
        said.append(f"and {len(settled.held) - 5} more: git nexus doctor lists them")
    if settled.restored:
        files = "1 missing file" if settled.restored == 1 else f"{settled.restored} missing files"
        said.append(f"restored {files} in .nexus/")
    if settled.postponed:
        said.append(f"your edits in .nexus/ are not committed yet: {settled.postponed}")
    return said
