"""Machines of several people with clones of one project: each has a home, and so keys and a policy, of its own."""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gitnexus.app.init import init_project
from gitnexus.policy.signed import SignedFiles
from gitnexus.projects.open_state import open_state
from gitnexus.runs.open_run import OpenRun, open_run
from gitnexus.runs.start import RunRequest, start_run
from gitnexus.sync.sync import SyncResult
from tests.conftest import Nexus, run_git
from tests.prepared import PreparedFolder
from tests.sync.two import Clone


class Machine:
    """One person's clone and home. With `prepared` it is a step of what is copied."""

    def __init__(self, hub: Path, name: str, prepared: PreparedFolder | None = None) -> None:
        self.name, self.prepared = name, prepared
        self.place = hub.parent / name
        self.home = hub.parent / f"home of {name}"
        self.step(f"machine {name}", lambda: self._set_up(hub))

    def _set_up(self, hub: Path) -> str:
        run_git(hub.parent, "clone", "-q", str(hub), self.name)
        run_git(self.place, "config", "user.name", self.name.title())
        with self.here():
            init_project(self.place, name=None, aliases=(), with_hooks=False, local=False).nexus.close()
        return ""

    def step(self, words: str, act: Callable[[], str]) -> str:
        """Do something that is copied in the next test which does the same after the same steps."""
        return self.prepared.step(f"{self.name} {words}", act) if self.prepared else act()

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Be at this machine."""
        if self.prepared:
            self.prepared.settle()
        before = os.environ.get("NEXUS_HOME")
        os.environ["NEXUS_HOME"] = str(self.home)
        try:
            yield
        finally:
            if before is None:
                del os.environ["NEXUS_HOME"]
            else:
                os.environ["NEXUS_HOME"] = before

    def __call__(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        with self.here():
            return Nexus(self.place)(*argv)

    def ok(self, *argv: str) -> str:
        with self.here():
            return Nexus(self.place).ok(*argv)

    def json(self, *argv: str) -> Any:
        return json.loads(self(argv[0], "--json", *argv[1:]).stdout)

    def consent(self) -> str:
        """Say that the approvers of the project count on this machine."""
        with self.here():
            state = open_state(self.place)
            root = SignedFiles(state.required(), state.repo.common_dir).listed().root.key
            state.close()
        return self.ok("approver", "trust", "--confirm", root)

    def begin_waiting_run(self, script: str, *options: str) -> str:
        """Sync, and have a run come to where it waits for an answer; it comes before anything that is no step."""

        def run() -> str:
            self.sync()
            return str(self.json("run", *options, "--", "sh", "-c", script)["run"]["id"])

        return self.step(f"runs {script} {options}", run)

    def sync(self) -> SyncResult:
        with self.here():
            return Clone(self.place).sync()

    @contextlib.contextmanager
    def run(self, run: str) -> Iterator[OpenRun]:
        """Open a run in this process."""
        with self.here():
            state = open_state(self.place)
            try:
                yield open_run(state, run)
            finally:
                state.close()

    def begin(self, wish: RunRequest) -> str:
        """Begin a run that nobody drives, as a kill would leave it, and put it on its ref."""
        with self.here():
            state = open_state(self.place)
            try:
                desk = start_run(state, wish)
                desk.write_checkpoint()
                return desk.record.id
            finally:
                state.close()
