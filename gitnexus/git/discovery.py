"""Finds the repository of a folder: a subfolder, linked worktree, bare repository or submodule. Returns a `Repo`."""

import os
import re
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import Failed, NotFound
from gitnexus.git.child import GitFailed, clean_environment, git_error_line
from gitnexus.git.configfile import NotPlain, read_plain_config
from gitnexus.git.git_folders import read_git_folders

_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
_ASK = (
    "rev-parse",
    "--path-format=absolute",
    "--is-bare-repository",
    "--show-object-format",
    "--git-common-dir",
    "--git-dir",
    "--show-toplevel",  # fails where there is no work tree, after the rest was printed: keep it last
)
_HEAD = re.compile(r"ref: refs/\S+|[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HARMLESS_EXTENSIONS = ("extensions.objectformat", "extensions.partialclone")


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository as git sees it from one folder."""

    git_dir: Path
    common_dir: Path
    worktree: Path | None
    object_format: str

    @property
    def is_linked(self) -> bool:
        """True in a worktree made by `git worktree add`."""
        return self.git_dir != self.common_dir

    @property
    def folder(self) -> Path:
        """The folder a user would name: the worktree, or the bare repository itself."""
        return self.worktree or self.common_dir

    @property
    def main_folder(self) -> Path:
        """The folder of the main worktree: the same for every linked worktree, so it identifies the project."""
        if not self.is_linked:
            return self.folder
        return self.common_dir.parent if self.common_dir.name == ".git" else self.common_dir


def clear_inherited_git_dir() -> None:
    """Remove inherited GIT_* variables from os.environ, because the user named the project explicitly."""
    for name in _INHERITED:
        os.environ.pop(name, None)


def discover(start: Path, *, inherit: bool = False) -> Repo:
    """Return the repository that contains `start`.

    `inherit` uses GIT_DIR and GIT_WORK_TREE, as `git --git-dir=… nexus` and git hooks set them: for the command's own
    project only, never for another one. Raises: NotFound, Failed.
    """
    if not (inherit and any(name in os.environ for name in _INHERITED)):
        found = find_plain_repo(start)
        if found is not None:
            return found
    env = clean_environment()
    if inherit:
        env |= {name: os.environ[name] for name in _INHERITED if name in os.environ}
    try:
        asked = subprocess.run(["git", *_ASK], cwd=start, env=env, capture_output=True, check=False)
    except FileNotFoundError as exc:
        if not start.is_dir():
            raise NotFound(f"there is no folder {start}") from exc
        raise Failed("git is not on PATH", hint="install git 2.34 or newer") from exc
    except NotADirectoryError as exc:
        raise NotFound(f"{start} is not a folder") from exc
    lines = os.fsdecode(asked.stdout).split("\n")[:-1]
    if len(lines) < 4:
        raise _unusable_repo_error(start, asked.stderr)
    bare, object_format, common, git_dir = lines[0] == "true", lines[1], Path(lines[2]), Path(lines[3])
    if len(lines) > 5 or not common.is_absolute():
        raise Failed(
            f"{start}: git names its folders in a way git nexus does not understand",
            hint="a line break in the path of a repository is not supported; git must be 2.34 or newer",
        )
    worktree = Path(lines[4]) if len(lines) == 5 else None
    if worktree is None and not bare and git_dir == common and git_dir.name == ".git":
        worktree = git_dir.parent  # asked from inside .git
    return Repo(git_dir, common, worktree, object_format)


def find_plain_repo(start: Path) -> Repo | None:
    """Return the repository that contains `start`, read from its files; None if git itself has to be asked.

    That is every case but a `.git` folder, or a linked worktree's `.git` file, owned by the user, with a worktree
    around it and an ordinary configuration. A git child would cost as much as the rest of a command.
    """
    try:
        folder = os.path.realpath(start, strict=True)
        device = os.stat(folder).st_dev
        while not os.path.lexists(f"{folder}/.git"):
            above = os.path.dirname(folder)
            if os.path.lexists(f"{folder}/HEAD") or above == folder or os.stat(above).st_dev != device:
                return None
            folder = above
        git_dir, common_dir = _git_folders(folder)
        object_format = _plain_object_format(common_dir)
        has_head = _HEAD.fullmatch(_read_line(f"{git_dir}/HEAD")) is not None
        is_whole = has_head and os.path.isdir(f"{common_dir}/objects") and os.path.isdir(f"{common_dir}/refs")
        # Git asks safe.directory about what belongs to somebody else.
        is_ours = {os.stat(path).st_uid for path in (folder, f"{folder}/.git", git_dir)} == {os.geteuid()}
    except (OSError, ValueError, NotPlain):
        return None
    return Repo(Path(git_dir), Path(common_dir), Path(folder), object_format) if is_whole and is_ours else None


def _git_folders(folder: str) -> tuple[str, str]:
    """Return the git folder of a worktree and its common git folder. Raises: OSError, NotPlain."""
    mode = os.lstat(f"{folder}/.git").st_mode
    git_dir, common_dir = read_git_folders(folder)
    is_main = stat.S_ISDIR(mode) and git_dir == common_dir
    # A submodule's may be read too, but its configuration names a work tree.
    is_linked = stat.S_ISREG(mode) and os.path.basename(os.path.dirname(git_dir)) == "worktrees"
    if "\n" in folder or not (is_main or (is_linked and git_dir != common_dir)):
        raise NotPlain
    return git_dir, common_dir


def _plain_object_format(common_dir: str) -> str:
    """Return the object format of a repository without special extensions. Raises: NotPlain."""
    settings = dict(read_plain_config(Path(common_dir, "config")))
    special = [key for key in settings if key.startswith("extensions.") and key not in _HARMLESS_EXTENSIONS]
    object_format = settings.get("extensions.objectformat", "sha1")
    version = settings.get("core.repositoryformatversion")
    is_known = version == "1" or (version == "0" and "extensions.objectformat" not in settings)
    has_worktree = settings.get("core.bare", "false") == "false" and "core.worktree" not in settings
    if special or object_format not in ("sha1", "sha256") or not is_known or not has_worktree:
        raise NotPlain
    return object_format


def _read_line(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read(4096).removesuffix("\n")


def _unusable_repo_error(start: Path, stderr: bytes) -> Exception:
    said = git_error_line(stderr)
    if "not a git repository" in said:
        return NotFound(
            f"not in a git repository: {start}", hint="change into one, or make one with: git init", fix="git init"
        )
    if "dubious ownership" in said:
        return Failed(
            f"git does not trust this repository: {said}",
            hint="if it is yours, configure that (git help config, safe.directory)",
        )
    if "unknown repository extension" in stderr.decode("utf-8", "replace"):
        return Failed(
            "this repository uses a format that the installed git cannot read",
            hint="a newer git can: reftable needs 2.45",
        )
    return GitFailed(f"git cannot use this repository: {said}")
