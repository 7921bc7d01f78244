"""An open project: its repository, its state, and what was noticed on the way in."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gitnexus.base.errors import Failed, NexusError
from gitnexus.git import Repo, discover
from gitnexus.projects import Project, hash_of, read_registry
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
        home = open_home()
        if home is None:
            return None
        try:
            return read_registry(home.snapshot).at(real(self.repo.main_place))
        except NexusError:
            return None
        finally:
            home.close()

    def described(self) -> dict[str, str]:
        """Return the project for an envelope."""
        path = real(self.repo.main_place)
        name = self.registered.name if self.registered else default_name(Path(path))
        return {"name": name, "hash": hash_of(path), "path": path}

    @property
    def notices(self) -> list[str]:
        """What a person should hear about `.nexus/`, a line each."""
        return notices(self.settled)

    def close(self) -> None:
        """Let go of git."""
        self.state.close()


def open_nexus(place: Path) -> Nexus:
    """Open the project at `place` and take in what was edited by hand. Raises: NotFound."""
    repo = discover(place, inherit=True)
    state = State.open(repo)
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
        return Nexus(state, settle(state))
    except BaseException:
        state.close()
        raise


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
            return commit
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
        said.append(f"put {settled.restored} missing files back into .nexus/")
    return said
