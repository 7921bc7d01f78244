"""Give a command the catalog that holds where it is called."""

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import click

from gitnexus.ui.commands import invocation
from gitnexus.ui.output import note, start_folder

if TYPE_CHECKING:
    from gitnexus.app.catalog import CatalogHere

P = ParamSpec("P")
R = TypeVar("R")


def with_catalog(command: "Callable[Concatenate[CatalogHere, P], R]") -> Callable[P, R]:
    """Open the catalog for a command; there need not be a project, nor a repository."""

    def opened(*args: P.args, **kwargs: P.kwargs) -> R:
        from gitnexus.app.catalog import catalog_at

        here = catalog_at(start_folder(invocation(click.get_current_context())))
        for line in here.notices:
            note(line)
        return command(here, *args, **kwargs)

    return update_wrapper(opened, command)
