"""A scratch folder with a repository, a home and a server, which is put back as it was before each trial."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conftest import copy_tree
from tests.crash.injector import Fault, Injector, Outcome

_GITCONFIG = (
    "[user]\n\tname = Test Person\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n"
    '[protocol "file"]\n\tallow = always\n[maintenance]\n\tauto = false\n[gc]\n\tauto = 0\n'
)
# What makes git itself durable; without it git promises nothing about objects after a power cut.
_DURABLE = "[core]\n\tfsync = all\n\tfsyncMethod = fsync\n"


class Stage:
    """`root` is the folder that is counted; all processes that are started here live in its home."""

    def __init__(self, library: Path, folder: Path, *, durable: bool = False) -> None:
        folder = folder.resolve()
        self.root, self._templates = folder / "w", folder / "templates"
        self.repo, self.home, self.hub = self.root / "repo", self.root / "home", self.root / "hub.git"
        private = folder / "private"
        for place in (self._templates, private):
            place.mkdir(parents=True)
        self.env = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "NEXUS_HOME": str(self.home / "nexus"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }
        self._durable = durable
        self.injector = Injector(library, self.root, private, self.env)

    def close(self) -> None:
        self.injector.close()

    def make_repository(self) -> None:
        """Make an empty stage with a repository of one commit."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.home.mkdir(parents=True)
        (self.home / ".gitconfig").write_text(_GITCONFIG + (_DURABLE if self._durable else ""))
        self.git("init", "-q", str(self.repo), cwd=self.root)
        shutil.rmtree(self.repo / ".git" / "hooks")
        (self.repo / "readme.txt").write_text("hello\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")

    def keep(self, name: str) -> Path:
        """Keep the stage as a template and return its folder."""
        return copy_tree(self.root, self._templates / name)

    def restore(self, template: Path) -> None:
        """Put the stage back as the template has it."""
        shutil.rmtree(self.root)
        copy_tree(template, self.root)

    def git(self, *argv: str, cwd: Path | None = None, check: bool = True) -> str:
        """Run the user's git without faults, and return what it printed."""
        done = self.try_git(*argv, cwd=cwd)
        if check and done.returncode != 0:
            raise AssertionError(f"git {' '.join(argv)} → {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def try_git(self, *argv: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Run the user's git without faults, and return how it ended."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "NEXUS_"))}
        return subprocess.run(
            ["git", *argv], cwd=cwd or self.repo, env={**inherited, **self.env}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    def nexus(self, *argv: str, status: int = 0, cwd: Path | None = None) -> str:
        """Run a command without faults that must end with `status`, and return what it printed."""
        done = self.injector.run(argv, cwd or self.repo)
        assert done.status == status, str(done)
        return done.out

    def struck(self, argv: Sequence[str], fault: Fault, number: int, cwd: Path | None = None) -> Outcome:
        """Run a command with a fault."""
        return self.injector.run(argv, cwd or self.repo, fault, number)

    def json(self, *argv: str, status: int = 0, command: Sequence[str] = ()) -> Any:
        """Run a command without faults, `command` after its two dashes, and return its JSON document."""
        return json.loads(self.nexus(*argv, "--json", *(("--", *command) if command else ()), status=status))
