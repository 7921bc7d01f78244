"""An open project: its repository, its state, and what was noticed on the way in."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gitnexus.app.keepers import open_state
from gitnexus.base.errors import Busy, Failed, NexusError
from gitnexus.git import GitFailed, Repo, discover
from gitnexus.projects import Project, Registry, hash_of, read_registry
from gitnexus.projects.model import default_name, real
from gitnexus.state import State
from gitnexus.state.home import open_home
from gitnexus.state.intake import Settled, settle


@dataclass
class Nexus:
    """What a command works with. Closing it lets go of git."""

    state: State
    settled: Settled = field(default_factory=Settled)

    @property
    def repo(self) -> Repo:
        """The repository as seen from where the command was called."""
        return self.state.repo

    @cached_property
    def registered(self) -> Project | None:
        """This project's row in the registry; None also where the registry cannot be read."""
        return registered_at(self.repo)

    def described(self) -> dict[str, str]:
        """Return the project for an envelope."""
        return _described(self.repo, self.registered)

    @property
    def notices(self) -> list[str]:
        """What a person should hear about `.nexus/`, a line each."""
        return notices(self.settled)

    def close(self) -> None:
        """Let go of git."""
        self.state.close()


def open_nexus(place: Path, *, inherit: bool = True) -> Nexus:
    """Open the project at `place` and take in what was edited by hand; `inherit` as in `discover`. Raises: NotFound."""
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
        return Nexus(state, settled(state))
    except BaseException:
        state.close()
        raise


def settled(state: State) -> Settled:
    """Settle, but let one who only reads go on where nothing can be written now."""
    try:
        return settle(state)
    except (Busy, GitFailed, OSError) as exc:
        why = exc.message if isinstance(exc, NexusError) else exc.strerror or str(exc)
        return Settled(postponed=why)


def described(repo: Repo) -> dict[str, str]:
    """Return the project of a repository for an envelope, initialised or not."""
    return _described(repo, registered_at(repo))


def described_at(path: str) -> dict[str, str]:
    """Return the project at a real path for an envelope."""
    return _named(path, _row(path))


def registered_at(repo: Repo) -> Project | None:
    """Return a repository's row in the registry; None also where the registry cannot be read."""
    return _row(real(repo.main_place))


def own_names(repo: Repo) -> frozenset[str]:
    """Return the words that name this project: registered, or by its folder as long as no other one is called so."""
    path = real(repo.main_place)
    registry = _registry()
    row = registry.at(path)
    if row is not None:
        return frozenset([row.name, *row.aliases])
    name = default_name(Path(path))
    return frozenset([name] if registry.owner(name) is None else [])


def _row(path: str) -> Project | None:
    return _registry().at(path)


def _registry() -> Registry:
    """Return the registry, an empty one where it cannot be read: that does not stop work on the own project."""
    home = open_home()
    if home is None:
        return Registry()
    try:
        return read_registry(home.snapshot)
    except NexusError:
        return Registry()
    finally:
        home.close()


def _described(repo: Repo, row: Project | None) -> dict[str, str]:
    return _named(real(repo.main_place), row)


def _named(path: str, row: Project | None) -> dict[str, str]:
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


def notices(settled: Settled) -> list[str]:
    """Return what happened to `.nexus/` in sentences."""
    said = []
    if settled.tracked:
        return [".nexus/ is tracked on this branch: its files are left alone, state is read from refs/nexus/state"]
    if settled.taken:
        named = settled.taken[0] if len(settled.taken) == 1 else f"{len(settled.taken)} files"
        said.append(f"took in what you changed in .nexus/: {named}")
    for path in settled.kept:
        said.append(f"both sides changed {path.rpartition('.mine-')[0]}: yours is kept in .nexus/{path}")
    for path, why in list(settled.held.items())[:5]:
        said.append(f".nexus/{path} is left as it is: {why}")
    if len(settled.held) > 5:
        said.append(f"and {len(settled.held) - 5} more: git nexus doctor lists them")
    if settled.restored:
        files = "1 missing file" if settled.restored == 1 else f"{settled.restored} missing files"
        said.append(f"put {files} back into .nexus/")
    if settled.postponed:
        said.append(f"what you changed in .nexus/ is not taken in yet: {settled.postponed}")
    return said
