"""Resolves the path of the bundle that a command names."""

from typing import TYPE_CHECKING

import click

from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import start_folder

if TYPE_CHECKING:
    from pathlib import Path


def bundle_path(file: str) -> "Path":
    """Return the path of a bundle, relative to the folder that the command works in."""
    return start_folder(current_invocation(click.get_current_context())) / file
