"""Runs a command line and turns every outcome into an exit status."""

import os
import sys
from collections.abc import Sequence

import click

from gitnexus.ui.commands import Row, build_root_command, wants_json


def run_command_line(rows: Sequence[Row], arguments: list[str], common: Sequence[str] = ()) -> int:
    """Return the exit status of one command line; `common` are the commands that the help shows."""
    group = build_root_command(rows, common)
    if "_GIT_NEXUS_COMPLETE" in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, "git-nexus", "_GIT_NEXUS_COMPLETE", os.environ["_GIT_NEXUS_COMPLETE"])
    try:
        # git starts us as `git-nexus`; people type and read `git nexus`.
        with group.make_context("git nexus", list(arguments)) as ctx:
            group.invoke(ctx)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as exc:
        return exc.exit_code
    except BrokenPipeError:
        # The reader went away (`| head`): that is its right. Say nothing more, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except BaseException as exc:  # noqa: BLE001 - report() knows what to pass on
        from gitnexus.ui.errors import report_error

        return report_error(exc, arguments, as_json=wants_json(arguments))
