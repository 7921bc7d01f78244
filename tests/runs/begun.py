"""A run that was begun, with nobody at work in it: tests call its tools as the agent would."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from gitnexus.app import open_nexus
from gitnexus.app.rundesk import RunDesk, open_run
from gitnexus.app.running import Wish, started
from gitnexus.runs.definition import of_command


@contextlib.contextmanager
def begun(project: Path) -> Iterator[RunDesk]:
    """Begin a run and open it as another process would."""
    nexus = open_nexus(project)
    made = started(nexus.state, Wish(of_command(("true",)), "a run"))
    nexus.close()
    nexus = open_nexus(project)
    try:
        yield open_run(nexus.state, made.run.id)
    finally:
        nexus.close()


def patch_of(path: str, old: str, new: str) -> str:
    """Return a diff that makes one line another one."""
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


def new_file(path: str, line: str = "new") -> str:
    """Return a diff that makes a file of one line."""
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
