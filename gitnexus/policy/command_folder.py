"""The folder that a command runs in, looked at for what would make its program run something else.

git takes the first repository that it finds from there upwards, and runs what its config names: so that has to be the
project's own. Other programs obey files that lie there: those have to be as they are committed.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePath

from gitnexus.base.text import one_line
from gitnexus.git.child import run as git_run
from gitnexus.policy.obeyed import OBEYED
from gitnexus.policy.programs import name_of, unwrapped

_LARGEST = 4 * 1024 * 1024
_MOST_FOUND = 2000
_PYTHONS = frozenset(("python", "python3", "pypy", "pypy3"))
# Programs that ask git, or look for a repository as it does.
_GITS = frozenset(("git", "tig", "gh", "glab", "hub", "jj", "git-nexus"))


def why_folder_matters(argv: Sequence[str], cwd: str, top: str) -> tuple[str, list[str]]:
    """Return why the folder of a command is no plain one, empty if it is, and the paths that this rests on."""
    name = name_of(argv[0])
    if name in _GITS:
        return _repository(argv, os.path.realpath(cwd), os.path.realpath(top))
    names = tuple(dict.fromkeys(name for name in _programs(argv) if name in OBEYED))
    return _obeyed(names, os.path.realpath(cwd), os.path.realpath(top)) if names else ("", [])


def _programs(argv: Sequence[str]) -> Iterator[str]:
    """Yield the program, those that it may run for somebody, and a module of Python's that is one."""
    yield from (name_of(line[0]) for line in unwrapped(argv))
    if name_of(argv[0]) in _PYTHONS:
        joined = next((word for word in argv[1:] if word.startswith("-") and "m" in word), "").partition("m")[2]
        modules = [joined, *argv[2:]]
        yield from (name for word in modules for name in _names_of_module(word.partition(".")[0]))


def _names_of_module(module: str) -> tuple[str, ...]:
    return module, module.replace("_", "-"), f"{module}-build"


def _repository(argv: Sequence[str], cwd: str, top: str) -> tuple[str, list[str]]:
    at, looked_at = Path(_entered(argv, cwd)), list[str]()
    common = Path(top, ".git")
    while True:
        # Below the top a folder may become a repository; the top is one already, and nobody gets past that.
        looked_at += [str(at)] if str(at) != top else []
        shown = one_line(str(at), 120)
        if os.path.lexists(at / ".git"):
            if str(at) == top or _is_submodule(at / ".git", common):
                return "", looked_at
            return f"git takes {shown} for a repository of its own, which an agent could have made", looked_at
        if is_repository(at):
            return f"git takes the folder {shown} for a repository, which an agent could have made", looked_at
        if at == at.parent:
            return "", looked_at  # git finds none, and says so
        at = at.parent


def _entered(argv: Sequence[str], cwd: str) -> str:
    """Return the folder that git goes to first: each -C counts from the one before."""
    for at, word in enumerate(argv[:-1]):
        if word == "-C":
            cwd = os.path.realpath(Path(cwd, argv[at + 1]))
    return cwd


def is_repository(folder: Path) -> bool:
    """True for a folder that git itself takes for a repository: a HEAD, with objects and refs or the way to them."""
    if not os.path.lexists(folder / "HEAD"):
        return False
    return (folder / "commondir").exists() or ((folder / "objects").is_dir() and (folder / "refs").is_dir())


def _is_submodule(link: Path, common: Path) -> bool:
    """True for the file .git of a submodule: its repository lies in the project's own, where no agent writes."""
    try:
        if not link.is_file() or link.is_symlink():
            return False
        named = link.read_text("utf-8", "replace")[:4096].removeprefix("gitdir:").strip()
        return Path(os.path.realpath(link.parent / named)).is_relative_to(os.path.realpath(common / "modules"))
    except OSError:
        return False


def _obeyed(names: Sequence[str], cwd: str, top: str) -> tuple[str, list[str]]:
    if cwd != top and not cwd.startswith(f"{top}/"):
        return "", []  # judged as a command outside of the project
    by_file = {file: name for name in reversed(names) for file in _present(OBEYED[name], Path(cwd), Path(top))}
    files = list(by_file)
    changed = _uncommitted(files, top)
    name = by_file[Path(top, changed)] if changed else ""
    why = f"{name} obeys {one_line(changed, 120)}, which is not as it is committed" if changed else ""
    folders = [at for at in (Path(cwd), *Path(cwd).parents) if at.is_relative_to(top)]
    below = {at / folder for at in folders for folder in _folders_in(names) if (at / folder).is_dir()}
    return why, [str(path) for path in (*folders, *sorted(below), *files)]


def _folders_in(names: Sequence[str]) -> set[str]:
    """Return the folders in which files of these programs may come to lie, such as .cargo."""
    files = (PurePath(file) for name in names for file in OBEYED[name] if "/" in file)
    return {str(folder) for file in files for folder in file.parents if "*" not in str(folder)} - {"."}


def _present(names: Sequence[str], cwd: Path, top: Path) -> Iterator[Path]:
    at = cwd
    while True:
        for name in names:
            if "*" in name:
                yield from islice(at.glob(name), _MOST_FOUND)
            elif os.path.lexists(at / name):
                yield at / name
        if at in (top, at.parent):
            return
        at = at.parent


def _uncommitted(files: Sequence[Path], top: str) -> str:
    """Return the first of the files that is not in HEAD as it lies there, empty if all are."""
    if not files:
        return ""
    below = [file.relative_to(top).as_posix() for file in files]
    listed = git_run("ls-tree", "-z", "--full-tree", "HEAD", "--", *below, cwd=Path(top)).stdout
    rows = dict(_entry(row) for row in listed.decode("utf-8", "surrogateescape").split("\0") if row)
    return next((path for path, file in zip(below, files, strict=True) if rows.get(path) != _blob_of(file, rows)), "")


def _entry(row: str) -> tuple[str, str]:
    head, _, path = row.partition("\t")
    return path, head.split(" ")[-1]


def _blob_of(file: Path, rows: dict[str, str]) -> str:
    """Return the id that git would give a file; empty for what is no plain file of a usual size."""
    try:
        raw = b"" if file.is_symlink() or file.stat().st_size > _LARGEST else file.read_bytes()
    except OSError:
        return "unreadable"
    algorithm = "sha256" if any(len(oid) == 64 for oid in rows.values()) else "sha1"
    return "a link" if file.is_symlink() else hashlib.new(algorithm, b"blob %d\0" % len(raw) + raw).hexdigest()
