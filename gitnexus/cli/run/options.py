"""Options that several commands about a run have."""

from collections.abc import Callable
from typing import Any, Literal

import click

Then = Literal["go", "wait", "hold"]


def going_on_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for an answered run: continue it, follow it, or leave it."""
    hold = click.option("--hold", "then", flag_value="hold", help="Leave the run: git nexus resume continues it.")
    wait = click.option(
        "--wait",
        "then",
        flag_value="wait",
        default="go",
        help="Follow the run until it needs a person again or is over.",
    )
    return wait(hold(command))


def queue_option(words: str) -> Callable[..., Any]:
    """Return the option that names the server on which a run is queued: "" without a name, None without the option."""
    return click.option("--queue", "server", is_flag=False, flag_value="", default=None, metavar="[REMOTE]", help=words)
