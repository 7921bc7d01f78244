"""The catalog as it holds in one place: a project's, or outside of one the user's."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gitnexus.app.open import open_nexus
from gitnexus.base.errors import NotFound
from gitnexus.base.files import expand_home
from gitnexus.catalog import Catalog, Opened, open_catalog
from gitnexus.catalog.effective import denied, effective


@dataclass(frozen=True)
class CatalogHere:
    """An opened catalog, the project that it was opened for, and what a person should hear about both."""

    opened: Opened
    described: Callable[[], dict[str, str]] | None
    notices: tuple[str, ...]

    @property
    def catalog(self) -> Catalog:
        """The catalog to work with."""
        return self.opened.catalog

    def effective(self, role: str) -> tuple[str, ...]:
        """Return what a role may not do here. Raises: NotFound, Invalid."""
        return effective(self.catalog, role, self.opened.added)

    def denied(self, role: str) -> dict[str, tuple[str, ...]]:
        """Return the tools that a role may not call, by harness. Raises: NotFound, Invalid."""
        from gitnexus.catalog.harnesses import HARNESSES

        held = self.effective(role)
        return {name: denied(self.catalog, held, harness) for name, harness in HARNESSES.items()}


def catalog_at(place: Path) -> CatalogHere:
    """Open the catalog for a folder, whether a project is there or not. Raises: NotFound, Failed, Invalid."""
    try:
        nexus = open_nexus(place)
    except NotFound:
        if not place.is_dir():
            raise
        opened = open_catalog(None, None)
        return CatalogHere(opened, None, tuple(_notices(opened)))
    try:
        opened = open_catalog(nexus.state.snapshot, nexus.repo.place, nexus.state.trusts)
        return CatalogHere(opened, nexus.described, (*nexus.notices, *_notices(opened)))
    finally:
        nexus.close()


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of looking at a package."""

    source: str
    roles: int
    skills: int
    problems: tuple[str, ...]


def checked(place: Path, given: str | None) -> Checked:
    """Look at the package in the folder `given`, or at the one that holds at `place`. Raises: NotFound, Invalid."""
    if given is None:
        opened = catalog_at(place).opened
        return _counted(opened.asked or opened.catalog.source, opened.catalog, opened.problems)
    from gitnexus.catalog.package import load  # reads YAML

    loaded = load(place / expand_home(given))
    return _counted(given, loaded.catalog, loaded.problems)


def _counted(source: str, catalog: Catalog | None, problems: tuple[str, ...]) -> Checked:
    if catalog is None or problems:
        return Checked(source, 0, 0, problems)
    return Checked(source, len(catalog.agents), len(catalog.skills), ())


def _notices(opened: Opened) -> list[str]:
    if not opened.problems:
        return []
    asked = f"catalog.source {opened.asked} is broken, so the built-in catalog is used"
    return [f"{asked}; git nexus catalog check tells what is wrong ({len(opened.problems)})"]
