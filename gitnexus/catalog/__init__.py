"""The catalog: roles with their prompts and restrictions, skills, tags, and what these mean in each harness.

`data/` is our own package, in the layout of a nexus-core package; a project may name another package in its settings.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.catalog.catalog import BUILT_IN, Catalog
    from gitnexus.catalog.open import Opened, open_catalog

__all__ = ["BUILT_IN", "Catalog", "Opened", "open_catalog"]
_HOMES = {"BUILT_IN": "catalog", "Catalog": "catalog", "Opened": "open", "open_catalog": "open"}


def __getattr__(name: str) -> Any:
    """Import a module on first use: a hook with the built-in catalog does not need those for a project's own."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
