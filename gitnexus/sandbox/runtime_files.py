"""Lists the files that a user-installed program needs to start: its libraries and the interpreter of its first line.

The list is as short as possible: other files in the same folder may be anything, including keys and credentials.
"""

import os
from pathlib import Path
from typing import NamedTuple

from gitnexus.sandbox.inner.folders import SYSTEM
from gitnexus.sandbox.spec import is_within

# A folder with programs, and the folders beside it if the folder above is an installation.
_PROGRAMS = ("bin", "sbin", "shims")
_INSTALLED = ("pyvenv.cfg", "conda-meta", "lib", "lib64", "libexec", "versions")
_MODULES = "node_modules"
_MOST_LINKS = 20
_MOST_SCRIPTS = 4
_MOST_LISTED = 300
_FIRST_LINE = 256
_LONGEST_SETTINGS = 8192


class RuntimeFiles(NamedTuple):
    """What has to be within reach, and the folders on PATH in which interpreters are found by their name alone."""

    readable: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


def runtime_files_of(program: str, path: str, home: Path | None = None) -> RuntimeFiles:
    """Return the files that a program needs; `path` is where the user's own shell would find its interpreter."""
    readable: list[str] = []
    folders: list[str] = []
    file: str | None = program
    for _ in range(_MOST_SCRIPTS):
        if file is None:
            break
        readable += _paths_along_links(file, home or Path.home())
        named = _script_interpreter(file)
        file = named if named is None or named.startswith("/") else _find_on_path(named, path)
        if file is not None and named != file and not _is_system_path(os.path.dirname(file)):
            folders.append(os.path.dirname(file))
    return RuntimeFiles(tuple(dict.fromkeys(readable)), tuple(dict.fromkeys(folders)))


def runtime_files_in_folder(folder: str, path: str, home: Path | None = None) -> tuple[str, ...]:
    """Return what the programs of a whole folder need: the installation that it belongs to, or one by one.

    A link of an installation may lead to another one, as the Python of a virtual environment does.
    """
    home = home or Path.home()
    whole = _installation_root(Path(folder), home)
    # The folder itself, unless the home is in it: then only what is named.
    alone = [] if home.resolve().is_relative_to(folder) else [folder]
    found = [whole, *_base_of_environment(whole, home)] if whole else alone
    try:
        entries = sorted(os.listdir(folder))[:_MOST_LISTED]
    except OSError:
        return tuple(found if whole else ())
    for name in entries:
        if os.path.isfile(file := os.path.join(folder, name)) and (not whole or os.path.islink(file)):
            found += runtime_files_of(file, path, home).readable
    return tuple(dict.fromkeys(found))


def _paths_along_links(file: str, home: Path) -> list[str]:
    """Return the paths around a file and around the targets of all links on the way to it."""
    found = []
    for _ in range(_MOST_LINKS):
        file = os.path.join(os.path.realpath(os.path.dirname(file)), os.path.basename(file))
        if not _is_system_path(file):
            found.append(_readable_path(Path(file), home))
            found += _base_of_environment(found[-1], home)
        try:
            file = os.path.join(os.path.dirname(file), os.readlink(file))
        except OSError:
            break
    return found


def _readable_path(file: Path, home: Path) -> str:
    if _MODULES in file.parts:
        # The outermost: packages are found in all such folders above.
        return str(Path(*file.parts[: file.parts.index(_MODULES) + 1]))
    return _installation_root(file.parent, home) or str(file)


def _installation_root(folder: Path, home: Path) -> str | None:
    """Return what a folder with programs belongs to; never a home, or what is above one."""
    above = folder.parent
    kept = (home.resolve(), home.resolve() / ".local")
    if folder.name not in _PROGRAMS or above == Path("/") or any(one.is_relative_to(above) for one in kept):
        return None
    return str(above) if any((above / name).exists() for name in _INSTALLED) else None


def _base_of_environment(root: str, home: Path) -> list[str]:
    """Return the installation that a virtual environment of Python is made of, where its programs are copies."""
    try:
        rows = Path(root, "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")[:_LONGEST_SETTINGS].splitlines()
    except OSError:
        return []
    named = next((row.partition("=")[2].strip() for row in rows if row.partition("=")[0].strip() == "home"), "")
    base = _installation_root(Path(os.path.realpath(named)), home) if named.startswith("/") else None
    return [base] if base and not _is_system_path(base) else []


def _script_interpreter(file: str) -> str | None:
    """Return the program that the first line of a script names, by its path or, behind env, by its name."""
    try:
        with open(file, "rb") as script:
            line = script.readline(_FIRST_LINE)
    except OSError:
        return None
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None


def _find_on_path(name: str, path: str) -> str | None:
    for folder in path.split(":"):
        file = os.path.join(folder, name)
        if folder.startswith("/") and os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None


def _is_system_path(path: str) -> bool:
    return any(is_within(path, folder) for folder in SYSTEM)
