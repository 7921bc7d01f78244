"""A git on PATH that kills the command that started it, at the call or at the moment inside git that a test chooses."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import run_git
from tests.terminal import at_work
from tests.waiting import wait_until

# `before`: the command and this git; `after`: both once git is done; `alone`: the command, while git goes on.
WAYS = ("before", "after", "alone")
_SCRIPT = """#!/bin/sh
number=1
until mkdir "{folder}/$number" 2>/dev/null; do number=$((number + 1)); done
echo "$*" > "{folder}/$number/argv"
read -r at way < "{folder}/../order"
if [ $number = "$at" ]; then
  case $way in
    before) kill -9 0;;
    after) "{real}" "$@"; kill -9 0;;
    alone) kill -9 $PPID;;
  esac
fi
exec "{real}" "$@"
"""


@dataclass(frozen=True)
class KillingGit:
    """The folder in which the calls of git are counted."""

    folder: Path

    @property
    def calls(self) -> int:
        """How often git was called since the last kill."""
        return len([*self.folder.iterdir()])

    def kill(self, place: Path, *argv: str, at: int = 0, way: str = "before") -> int:
        """Run `git nexus`, killed at a call of git if `at` is given; return its status when all it started is gone."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        (self.folder.parent / "order").write_text(f"{at} {way}\n")
        with at_work(place, *argv) as (command, _):
            status = command.wait(60)
        wait_until("the end of what it started", lambda: not _is_group_alive(command.pid))
        return status


def install_killing_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> KillingGit:
    """Put the git that kills first on PATH."""
    (folder / "bin").mkdir(parents=True)
    (folder / "calls").mkdir()
    script = folder / "bin" / "git"
    script.write_text(_SCRIPT.format(folder=folder / "calls", real=shutil.which("git")))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return KillingGit(folder / "calls")


def _is_group_alive(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


# Moments inside git's merge: files and index are written, each hook, the branch before and after it moves.
MOMENTS = (
    "smudge", "second-smudge", "post-index-change", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
    "reference-transaction-prepared", "reference-transaction-committed", "post-merge",
)  # fmt: skip
# `all`: the command and its git; `git`: git alone, the command goes on; `command`: the command alone, git goes on.
VICTIMS = ("all", "git", "command")
_MOMENT_SCRIPT = """#!/bin/sh
moment={moment}
case $moment in
  smudge) cat; mkdir "{folder}/smudged" 2>/dev/null || moment=second-smudge;;
  reference-transaction) grep -q refs/heads/main && moment=$moment-$1;;
esac
test -f "{folder}/moment" && read -r wanted victim < "{folder}/moment"
if [ "$moment" = "$wanted" ]; then
  rm "{folder}/moment"
  case $victim in
    all) kill -9 0;;
    git) kill -9 $PPID;;
    command) kill -9 $(sed -n 's/^PPid:[[:space:]]*//p' /proc/$PPID/status);;
  esac
fi
exit 0
"""


class KilledInGit(NamedTuple):
    """Whether the moment came, the status of the command and what it said."""

    came: bool
    status: int
    said: str


@dataclass(frozen=True)
class KillingHooks:
    """Hooks and a filter of the user that kill at one moment inside git."""

    folder: Path

    def kill(self, place: Path, *argv: str, moment: str, victim: str) -> "KilledInGit":
        """Run `git nexus`, killed at a moment; return when all it started is gone."""
        shutil.rmtree(self.folder / "smudged", ignore_errors=True)
        (self.folder / "moment").write_text(f"{moment} {victim}\n")
        with at_work(place, *argv) as (command, said):
            status = command.wait(60)
            wait_until("the end of what it started", lambda: not _is_group_alive(command.pid))
            text = said.read()
        came = not (self.folder / "moment").exists()
        (self.folder / "moment").unlink(missing_ok=True)
        return KilledInGit(came, status, text)


def install_killing_hooks(folder: Path, place: Path) -> KillingHooks:
    """Have the hooks of `place`, and a filter for all its files, kill at the moment that a test chooses."""
    hooks = folder / "hooks"
    hooks.mkdir(parents=True)
    names = {moment.removesuffix("-prepared").removesuffix("-committed") for moment in MOMENTS[2:]} | {"smudge"}
    for name in names:
        (hooks / name).write_text(_MOMENT_SCRIPT.format(moment=name, folder=folder))
        (hooks / name).chmod(0o755)
    run_git(place, "config", "core.hooksPath", str(hooks))
    run_git(place, "config", "filter.killing.smudge", f"exec {hooks}/smudge")
    (place / ".git" / "info").mkdir(exist_ok=True)
    (place / ".git" / "info" / "attributes").write_text("* filter=killing\n")
    return KillingHooks(folder)
