"""Machines of several people with clones of one project: each has a home, and so keys and a policy, of its own."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitnexus.app.init import initialise
from gitnexus.app.keepers import open_state
from gitnexus.app.rundesk import RunDesk, open_run
from gitnexus.app.running import Wish, started
from gitnexus.app.sync import Synced
from gitnexus.policy.signed import Signed
from tests.conftest import Nexus, run_git
from tests.sync.two import Clone


class Machine:
    """One person's clone and home."""

    def __init__(self, hub: Path, name: str) -> None:
        self.name = name
        self.place = hub.parent / name
        self.home = hub.parent / f"home of {name}"
        run_git(hub.parent, "clone", "-q", str(hub), name)
        run_git(self.place, "config", "user.name", name.title())
        with self.here():
            initialise(self.place, name=None, aliases=(), with_hooks=False, local=False).nexus.close()

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Be at this machine."""
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

    def consent(self) -> None:
        """Say that the approvers of the project count on this machine."""
        with self.here():
            state = open_state(self.place)
            root = Signed(state.required(), state.repo.common_dir).listed().root.key
            state.close()
        self.ok("approver", "trust", "--confirm", root)

    def sync(self) -> Synced:
        with self.here():
            return Clone(self.place).sync()

    @contextlib.contextmanager
    def run(self, run: str) -> Iterator[RunDesk]:
        """Open a run in this process."""
        with self.here():
            state = open_state(self.place)
            try:
                yield open_run(state, run)
            finally:
                state.close()

    def begin(self, wish: Wish) -> str:
        """Begin a run that nobody drives, as a kill would leave it, and put it on its ref."""
        with self.here():
            state = open_state(self.place)
            try:
                desk = started(state, wish)
                desk.checkpointed()
                return desk.run.id
            finally:
                state.close()
