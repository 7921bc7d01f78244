"""A run that was begun, with nobody at work in it: tests call its tools as the agent would."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from gitnexus.app import open_nexus
from gitnexus.runs.open_run import OpenRun, open_run
from gitnexus.runs.start import RunRequest, start_run
from gitnexus.workflow.run_definition import definition_from_command


@contextlib.contextmanager
def begun(project: Path) -> Iterator[OpenRun]:
    """Begin a run and open it as another process would."""
    nexus = open_nexus(project)
    made = start_run(nexus.state, RunRequest(definition_from_command(("true",)), "a run"))
    nexus.close()
    nexus = open_nexus(project)
    try:
        yield open_run(nexus.state, made.record.id)
    finally:
        nexus.close()


def patch_of(path: str, old: str, new: str) -> str:
    """Return a diff that makes one line another one."""
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


def new_file(path: str, line: str = "new") -> str:
    """Return a diff that makes a file of one line."""
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
