"""Lists the worktrees of a repository from the files in its git folder, without a git child or config."""

from dataclasses import dataclass
from pathlib import Path

from gitnexus.git.discovery import Repo
from gitnexus.git.git_folders import read_git_folder

RUN_BRANCHES = "refs/heads/nexus/"


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checkout: the folder of its files, and the folder in which git keeps its HEAD and index."""

    path: Path
    git_dir: Path
    is_linked: bool

    @property
    def head(self) -> str:
        """Return the text of its HEAD: `ref: refs/heads/…` or an id."""
        try:
            return (self.git_dir / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""

    @property
    def is_run(self) -> bool:
        """True for the worktree of a run: created on a branch below nexus/, whatever branch it is on now."""
        if not self.is_linked:
            return False
        return self.head.startswith(f"ref: {RUN_BRANCHES}") or self.run_mark.exists()

    @property
    def run_mark(self) -> Path:
        """The file, unreachable for an agent, that names the run of this worktree."""
        return self.git_dir / "nexus" / "run"


def list_worktrees(repo: Repo) -> list[Worktree]:
    """Return every worktree whose folder exists, the main one first."""
    found = []
    main = repo.worktree if not repo.is_linked else _main_worktree_path(repo.common_dir)
    if main is not None:
        found.append(Worktree(main, repo.common_dir, False))
    folder = repo.common_dir / "worktrees"
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    for git_dir in names:
        place = _linked_worktree_path(git_dir)
        if place is not None:
            found.append(Worktree(place, git_dir, True))
    return found


def _linked_worktree_path(git_dir: Path) -> Path | None:
    try:
        link = (git_dir / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
    except OSError:
        return None
    # git 2.48 and later may write it relative to the admin folder
    dot_git = Path(link) if Path(link).is_absolute() else (git_dir / link).resolve()
    return dot_git.parent if _points_at_admin(dot_git, git_dir) else None


def _points_at_admin(dot_git: Path, git_dir: Path) -> bool:
    """Return True if a worktree's `.git` names this admin folder; in a copied repository it names the original's."""
    try:
        return Path(read_git_folder(str(dot_git.parent))) == git_dir.resolve()
    except OSError:
        return False


def _main_worktree_path(common_dir: Path) -> Path | None:
    if common_dir.name != ".git":
        return None  # bare, or a separate git dir that only its own worktree knows
    try:
        config = (common_dir / "config").read_text(encoding="utf-8", errors="replace").lower()
    except OSError:
        return None
    settings = [line.replace(" ", "").strip() for line in config.splitlines()]
    elsewhere = any(line == "bare=true" or line.startswith("worktree=") for line in settings)
    return None if elsewhere else common_dir.parent
