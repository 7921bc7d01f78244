"""Tell who interrupts a run how it goes on."""

import contextlib
from typing import TYPE_CHECKING

from gitnexus.ui.output import print_note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitnexus.runs.open_run import OpenRun


@contextlib.contextmanager
def interruptible_run(opened_run: "OpenRun") -> "Iterator[None]":
    """Say to who interrupts a run what becomes of it."""
    try:
        yield
    except KeyboardInterrupt:
        run = opened_run.record.id
        print_note(f"{run} stopped: git nexus resume {run} goes on with it, git nexus cancel {run} ends it")
        raise
