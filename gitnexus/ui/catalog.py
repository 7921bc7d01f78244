"""Passes the catalog in force to a command."""

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.app.catalog import open_catalog_at
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import print_note, start_folder

if TYPE_CHECKING:
    from gitnexus.app.catalog import CatalogInForce

P = ParamSpec("P")
R = TypeVar("R")


def with_catalog(command: "Callable[Concatenate[CatalogInForce, P], R]") -> Callable[P, R]:
    """Pass the catalog to a command; it needs neither a project nor a repository."""

    def opened(*args: P.args, **kwargs: P.kwargs) -> R:
        here = open_catalog_at(start_folder(current_invocation(click.get_current_context())))
        for line in here.notices:
            print_note(line)
        return command(here, *args, **kwargs)

    return update_wrapper(opened, command)
