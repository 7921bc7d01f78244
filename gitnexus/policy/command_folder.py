"""Checks the folder of a command for files that make its program run something else.

git uses the first repository that it finds upwards and runs what its config names, so that has to be the project's own.
Other programs obey files in the folder, which have to be as committed.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from gitnexus.base.files import files_upward
from gitnexus.base.text import one_line
from gitnexus.git.child import run_git as git_run
from gitnexus.git.git_folders import read_git_folder
from gitnexus.policy.obeyed import OBEYED
from gitnexus.policy.programs import program_name, programs_in

_LARGEST = 4 * 1024 * 1024
# Programs that call git, or search for a repository like git.
_GITS = frozenset(("git", "tig", "gh", "glab", "hub", "jj", "git-nexus"))


def why_folder_matters(argv: Sequence[str], cwd: str, top: str) -> tuple[str, list[str]]:
    """Return why the folder of a command is not safe, "" if it is, and the paths that this depends on."""
    name = program_name(argv[0])
    if name in _GITS:
        return _why_repository_matters(argv, os.path.realpath(cwd), os.path.realpath(top))
    names = tuple(dict.fromkeys(name for name in programs_in(argv) if name in OBEYED))
    return _why_config_matters(names, os.path.realpath(cwd), os.path.realpath(top)) if names else ("", [])


def _why_repository_matters(argv: Sequence[str], cwd: str, top: str) -> tuple[str, list[str]]:
    at, looked_at = Path(_git_start_folder(argv, cwd)), list[str]()
    common = Path(top, ".git")
    while True:
        # A folder below the top may become a repository; the top already is one, which ends the search.
        looked_at += [str(at)] if str(at) != top else []
        shown = one_line(str(at), 120)
        if os.path.lexists(at / ".git"):
            if str(at) == top or _is_submodule(at / ".git", common):
                return "", looked_at
            return f"git treats {shown} as a separate repository, which an agent could have made", looked_at
        if is_repository(at):
            return f"git treats the folder {shown} as a repository, which an agent could have made", looked_at
        if at == at.parent:
            return "", looked_at  # git finds none and fails
        at = at.parent


def _git_start_folder(argv: Sequence[str], cwd: str) -> str:
    """Return the folder that git starts in: each -C is relative to the one before."""
    for at, word in enumerate(argv[:-1]):
        if word == "-C":
            cwd = os.path.realpath(Path(cwd, argv[at + 1]))
    return cwd


def is_repository(folder: Path) -> bool:
    """True for a folder that git treats as a repository: a HEAD, with objects and refs or links to them."""
    if not os.path.lexists(folder / "HEAD"):
        return False
    return (folder / "commondir").exists() or ((folder / "objects").is_dir() and (folder / "refs").is_dir())


def _is_submodule(link: Path, common: Path) -> bool:
    """True for the .git file of a submodule whose repository is inside the project's own, where no agent writes."""
    try:
        if not link.is_file() or link.is_symlink():
            return False
        return Path(read_git_folder(str(link.parent))).is_relative_to(os.path.realpath(common / "modules"))
    except OSError:
        return False


def _why_config_matters(names: Sequence[str], cwd: str, top: str) -> tuple[str, list[str]]:
    if cwd != top and not cwd.startswith(f"{top}/"):
        return "", []  # judged as a command outside the project
    by_file = {file: name for name in reversed(names) for file in files_upward(OBEYED[name], Path(cwd), Path(top))}
    files = list(by_file)
    changed = _first_uncommitted_file(files, top)
    name = by_file[Path(top, changed)] if changed else ""
    why = f"{name} obeys {one_line(changed, 120)}, which is not as it is committed" if changed else ""
    folders = [at for at in (Path(cwd), *Path(cwd).parents) if at.is_relative_to(top)]
    below = {at / folder for at in folders for folder in _folders_in(names) if (at / folder).is_dir()}
    return why, [str(path) for path in (*folders, *sorted(below), *files)]


def _folders_in(names: Sequence[str]) -> set[str]:
    """Return the folders in which configuration files of these programs may be, such as .cargo."""
    files = (PurePath(file) for name in names for file in OBEYED[name] if "/" in file)
    return {str(folder) for file in files for folder in file.parents if "*" not in str(folder)} - {"."}


def _first_uncommitted_file(files: Sequence[Path], top: str) -> str:
    """Return the first file that differs from HEAD, "" if there is none."""
    if not files:
        return ""
    below = [file.relative_to(top).as_posix() for file in files]
    listed = git_run("ls-tree", "-z", "--full-tree", "HEAD", "--", *below, cwd=Path(top)).stdout
    rows = dict(_parse_tree_row(row) for row in listed.decode("utf-8", "surrogateescape").split("\0") if row)
    return next((path for path, file in zip(below, files, strict=True) if rows.get(path) != _blob_of(file, rows)), "")


def _parse_tree_row(row: str) -> tuple[str, str]:
    head, _, path = row.partition("\t")
    return path, head.split(" ")[-1]


def _blob_of(file: Path, rows: dict[str, str]) -> str:
    """Return the blob id of a file; "" if it is not a regular file of a usual size."""
    try:
        raw = b"" if file.is_symlink() or file.stat().st_size > _LARGEST else file.read_bytes()
    except OSError:
        return "unreadable"
    algorithm = "sha256" if any(len(oid) == 64 for oid in rows.values()) else "sha1"
    return "a link" if file.is_symlink() else hashlib.new(algorithm, b"blob %d\0" % len(raw) + raw).hexdigest()
