"""Programs of other people that we must get along with, fetched once per machine into a folder of their own.

Nothing is installed on the machine: a Debian package is only unpacked beside the others.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# As it was before a test sealed its home: how this machine reaches its package archives.
OUTSIDE = dict(os.environ)
ROOT = Path(__file__).resolve().parents[2]
CONFIG_HOOKS = (2, 54)


class CannotBeHad(Exception):
    """Why a peer is not here."""


@dataclass(frozen=True)
class Unpacked:
    """A Debian package: its program, and the folder that stands for `/` (which it is, where it was installed)."""

    program: Path
    root: Path


def new_git() -> Path:
    """Return a folder with nothing but a git that knows config hooks."""
    if git_version("git") >= CONFIG_HOOKS:
        return _once("system-git", lambda folder: (folder / "git").symlink_to(_on_path("git") or ""))
    script = ROOT / ".ci" / "peers" / "get-git.sh"
    return _once("git", lambda folder: _run(["sh", script, folder], 180)) / "bin"


def git_version(program: str) -> tuple[int, ...]:
    """Return the version that a git says it has."""
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=True, env=OUTSIDE).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])


def from_npm(package: str) -> Path:
    """Return the node_modules folder that holds a package."""
    if _on_path("npm") is None:
        raise CannotBeHad("there is no npm on PATH")
    npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]
    return _once(f"npm-{package.replace('/', '-')}", lambda folder: _run([*npm, folder, package], 120)) / "node_modules"


def from_pypi(package: str, seconds: int = 120) -> Path:
    """Return the bin folder of a virtual environment that holds a package; a large one may take longer."""

    def make(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", folder], 60)
        _run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", package], seconds)

    return _once(f"pypi-{package}", make) / "bin"


def from_debian(package: str, file: str) -> Unpacked:
    """Return `file` (a path below `/`) of a Debian package: the machine's own, or one unpacked for us."""
    installed = _on_path(Path(file).name) or (Path("/", file) if Path("/", file).exists() else None)
    if installed is not None:
        return Unpacked(installed, Path("/"))
    root = _once(f"debian-{package}", lambda folder: _unpack(package, folder)) / "root"
    program = root / file
    if not os.access(program, os.X_OK):
        return Unpacked(program, root)
    wrapper = root.parent / "bin" / program.name
    wrapper.parent.mkdir(exist_ok=True)
    libraries = ":".join(sorted({str(path.parent) for path in root.rglob("*.so.*")}))
    wrapper.write_text(f"#!/bin/sh\nLD_LIBRARY_PATH='{libraries}' exec '{program}' \"$@\"\n")
    wrapper.chmod(0o755)
    return Unpacked(wrapper, root)


def _unpack(package: str, folder: Path) -> None:
    if _on_path("apt-get") is None or _on_path("dpkg") is None:
        raise CannotBeHad("there is no apt on this machine")
    try:
        _download(package, folder)
    except CannotBeHad:
        if os.geteuid() != 0:
            raise
        _run(["apt-get", "-qq", "update"], 120)
        _download(package, folder)
    (folder / "root" / "usr").mkdir(parents=True)
    for file in folder.glob("*.deb"):
        _run(["dpkg", "-x", file, folder / "root"], 60)
        file.unlink()
    # fish looks for share/fish and etc/fish side by side, above its own bin.
    (folder / "root" / "usr" / "etc").symlink_to("../etc")


def _download(package: str, folder: Path) -> None:
    planned = _run(["apt-get", "install", "--simulate", "--no-install-recommends", package], 60)
    names = re.findall(r"^Inst (\S+)", planned, re.MULTILINE)
    _run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *names], 120, folder)


def _once(name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder of one peer; made by whoever comes first, begun anew if that one did not finish."""
    shelf = Path(tempfile.gettempdir(), f"git-nexus-peers-{os.geteuid()}")
    shelf.mkdir(mode=0o700, exist_ok=True)
    if shelf.lstat().st_uid != os.geteuid():
        raise CannotBeHad(f"{shelf} belongs to somebody else")
    folder, ready = shelf / name, shelf / f"{name}.ready"
    with (shelf / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            ready.touch()
    return folder


def _run(argv: Sequence[str | Path], seconds: int, place: Path | None = None) -> str:
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            cwd=place,
            env=OUTSIDE,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise CannotBeHad(f"{words[0]}: {exc}") from exc
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise CannotBeHad(f"{Path(words[0]).name} {words[1]} left with {done.returncode}: {said[-1]}")
    return done.stdout


def _on_path(program: str) -> Path | None:
    found = shutil.which(program, path=OUTSIDE.get("PATH"))
    return Path(found) if found else None
