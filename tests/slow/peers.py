"""Programs of other people that we must get along with, fetched once into .venv/peers; `make clean` removes them.

Nothing is installed on the machine: a Debian package is only unpacked beside the others. `make peers` fetches all.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# As it was before a test sealed its home: how this machine reaches its package archives.
OUTSIDE = dict(os.environ)
ROOT = Path(__file__).resolve().parents[2]
SHELF = ROOT / ".venv" / "peers"
CONFIG_HOOKS = (2, 54)
# For so many seconds nobody tries again what could not be had: each try may wait minutes for a network.
_NOT_AGAIN = 1800


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
    return _once("git", lambda folder: _run(["sh", script, folder], 300)) / "bin"


def git_version(program: str) -> tuple[int, ...]:
    """Return the version that a git says it has."""
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=True, env=OUTSIDE).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])


def from_npm(package: str) -> Path:
    """Return the node_modules folder that holds a package."""
    if _on_path("npm") is None:
        raise CannotBeHad("there is no npm on PATH")
    npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]
    return _once(f"npm-{package.replace('/', '-')}", lambda folder: _run([*npm, folder, package], 300)) / "node_modules"


def from_pypi(package: str, seconds: int = 300) -> Path:
    """Return the bin folder of a virtual environment that holds a package; a large one may take longer."""

    def make(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", folder], 180)
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
        _run(["apt-get", "-qq", "update"], 300)
        _download(package, folder)
    (folder / "root" / "usr").mkdir(parents=True)
    for file in folder.glob("*.deb"):
        _run(["dpkg", "-x", file, folder / "root"], 60)
        file.unlink()
    # fish looks for share/fish and etc/fish side by side, above its own bin.
    (folder / "root" / "usr" / "etc").symlink_to("../etc")


def _download(package: str, folder: Path) -> None:
    planned = _run(["apt-get", "install", "--simulate", "--no-install-recommends", package], 180)
    names = re.findall(r"^Inst (\S+)", planned, re.MULTILINE)
    _run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *names], 300, folder)


def _once(name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder of one peer; made by whoever comes first, begun anew if that one did not finish."""
    SHELF.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder, ready, failed = SHELF / name, SHELF / f"{name}.ready", SHELF / f"{name}.failed"
    with (SHELF / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if ready.exists():
            return folder
        if failed.exists() and time.time() - failed.stat().st_mtime < _NOT_AGAIN:
            raise CannotBeHad(failed.read_text())
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            make(folder)
        except CannotBeHad as exc:
            failed.write_text(str(exc))
            raise
        ready.touch()
    return folder


def forget_failures() -> None:
    """Let what could not be had be tried again."""
    for file in SHELF.glob("*.failed"):
        file.unlink()


def _run(argv: Sequence[str | Path], seconds: int, place: Path | None = None) -> str:
    words = [str(word) for word in argv]
    try:
        child = subprocess.Popen(
            words,
            cwd=place,
            env=OUTSIDE,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError as exc:
        raise CannotBeHad(f"{words[0]}: {exc}") from exc
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as exc:
        for pid in _family(child.pid):  # no group of its own: whoever ends these tests ends the installers too
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.communicate()
        raise CannotBeHad(f"{Path(words[0]).name} {' '.join(words[1:3])} took longer than {seconds} s") from exc
    if child.returncode != 0:
        said = (err or out).strip().splitlines() or ["no reason given"]
        raise CannotBeHad(f"{Path(words[0]).name} {words[1]} left with {child.returncode}: {said[-1]}")
    return out


def _family(pid: int) -> list[int]:
    """Return a process and all that it started, as far as the system tells: Linux does."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return [pid, *(one for child in children for one in _family(int(child)))]


def _on_path(program: str) -> Path | None:
    found = shutil.which(program, path=OUTSIDE.get("PATH"))
    return Path(found) if found else None


# Each peer that is no program of an agent: those stand in test_adapters_real.REAL.
PEERS: dict[str, Callable[[], Unpacked | Path]] = {
    "git 2.54": new_git,
    "husky": lambda: from_npm("husky"),
    "lefthook": lambda: from_npm("lefthook"),
    "MCP inspector": lambda: from_npm("@modelcontextprotocol/inspector"),
    "pre-commit": lambda: from_pypi("pre-commit"),
    "zsh": lambda: from_debian("zsh", "bin/zsh"),
    "fish": lambda: from_debian("fish", "usr/bin/fish"),
    "busybox": lambda: from_debian("busybox-static", "bin/busybox"),
    "bubblewrap": lambda: from_debian("bubblewrap", "usr/bin/bwrap"),
    "shellcheck": lambda: from_debian("shellcheck", "usr/bin/shellcheck"),
    "bash-completion": lambda: from_debian("bash-completion", "usr/share/bash-completion/bash_completion"),
    "openssh-server": lambda: from_debian("openssh-server", "usr/sbin/sshd"),
}
