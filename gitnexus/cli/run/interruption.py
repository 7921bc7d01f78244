"""Prints, when a user interrupts a run, how to continue it."""

import contextlib
from typing import TYPE_CHECKING

from gitnexus.ui.output import print_note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitnexus.runs.open_run import OpenRun


@contextlib.contextmanager
def interruptible_run(opened_run: "OpenRun") -> "Iterator[None]":
    """Print how to continue the run if the user interrupts the block."""
    try:
        yield
    except KeyboardInterrupt:
        run = opened_run.record.id
        print_note(f"{run} stopped: git nexus resume {run} continues it, git nexus cancel {run} ends it")
        raise
