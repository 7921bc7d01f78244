"""Opens the catalog of a project: the package named in its settings if it is valid, else the built-in one."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gitnexus.base.errors import Invalid
from gitnexus.base.files import expand_home
from gitnexus.catalog.builtin import builtin_catalog
from gitnexus.catalog.catalog import Catalog
from gitnexus.catalog.effective import Additions, CatalogSettings, added_capabilities
from gitnexus.state.settings import Trusts, settings_layers, trust_nobody
from gitnexus.state.snapshot import Snapshot


@dataclass(frozen=True)
class Opened:
    """The catalog to use, the problems of the requested one, and the settings."""

    catalog: Catalog
    asked: str | None
    problems: tuple[str, ...]
    settings: tuple[CatalogSettings, ...]

    @cached_property
    def added(self) -> Additions:
        """The capabilities that settings add to roles. Raises: Invalid."""
        return added_capabilities(self.catalog, self.settings)


def open_catalog(snapshot: Snapshot | None, place: Path | None, trusts: Trusts = trust_nobody) -> Opened:
    """Return the catalog for a project at `place`, or for none. Raises: Invalid for settings that cannot be parsed.

    A relative source is relative to the top of the project; one in the project's own settings counts only where
    `trusts` accepts those settings.
    """
    settings = tuple(
        CatalogSettings.from_value(value, f"{where}: catalog")
        for where, value in settings_layers(snapshot, "catalog", trusts)
    )
    asked = next((one.source for one in reversed(settings) if one.source), None)
    if asked is None:
        return Opened(builtin_catalog(), None, (), settings)
    from gitnexus.catalog.package import load_package  # reads YAML: only who has a catalog of their own pays

    loaded = load_package(_source_folder(asked, place))
    return Opened(loaded.catalog or builtin_catalog(), asked, loaded.problems, settings)


def _source_folder(asked: str, place: Path | None) -> Path:
    meant = expand_home(asked)
    if meant.parts[:1] and meant.parts[0].startswith("~"):
        raise Invalid(f"settings.json: catalog.source: {asked[:80]!r} names no user's home")
    if "\0" in asked or (place is None and not meant.is_absolute()):
        raise Invalid(
            f"settings.json: catalog.source: {asked[:80]!r} is not a path that can be resolved from here",
            hint="outside of a project it must be absolute, or begin with ~",
        )
    return meant if place is None else place / meant
