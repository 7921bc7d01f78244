"""Opens the catalog that applies in a folder: the project's, or outside a project the user's; checks packages."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import NotFound
from gitnexus.base.files import expand_home
from gitnexus.catalog import Catalog, Opened, open_catalog
from gitnexus.catalog.effective import denied_harness_tools, effective_capabilities
from gitnexus.projects.open_project import open_nexus


@dataclass(frozen=True)
class CatalogInForce:
    """An opened catalog, its project, and messages about both."""

    opened: Opened
    described: Callable[[], dict[str, str]] | None
    notices: tuple[str, ...]

    @property
    def catalog(self) -> Catalog:
        """The catalog in force."""
        return self.opened.catalog

    def effective(self, role: str) -> tuple[str, ...]:
        """Return the capabilities that a role lacks here. Raises: NotFound, Invalid."""
        return effective_capabilities(self.catalog, role, self.opened.added)

    def denied(self, role: str) -> dict[str, tuple[str, ...]]:
        """Return the tools that a role may not call, by harness. Raises: NotFound, Invalid."""
        from gitnexus.catalog.harnesses import HARNESSES

        held = self.effective(role)
        return {name: denied_harness_tools(self.catalog, held, harness) for name, harness in HARNESSES.items()}


def open_catalog_at(place: Path) -> CatalogInForce:
    """Open the catalog for a folder, inside or outside a project. Raises: NotFound, Failed, Invalid."""
    try:
        nexus = open_nexus(place)
    except NotFound:
        if not place.is_dir():
            raise
        opened = open_catalog(None, None)
        return CatalogInForce(opened, None, tuple(_broken_source_notices(opened)))
    try:
        opened = open_catalog(nexus.state.snapshot, nexus.repo.folder, nexus.state.trusts)
        return CatalogInForce(opened, nexus.described, (*nexus.notices, *_broken_source_notices(opened)))
    finally:
        nexus.close()


@dataclass(frozen=True, slots=True)
class PackageCheck:
    """The result of checking a package."""

    source: str
    roles: int
    skills: int
    problems: tuple[str, ...]


def check_package(place: Path, given: str | None) -> PackageCheck:
    """Check the package in the folder `given`, by default the one that applies at `place`.

    Raises: NotFound, Invalid.
    """
    if given is None:
        opened = open_catalog_at(place).opened
        return _count_package(opened.asked or opened.catalog.source, opened.catalog, opened.problems)
    from gitnexus.catalog.package import load_package  # reads YAML

    loaded = load_package(place / expand_home(given))
    return _count_package(given, loaded.catalog, loaded.problems)


def _count_package(source: str, catalog: Catalog | None, problems: tuple[str, ...]) -> PackageCheck:
    if catalog is None or problems:
        return PackageCheck(source, 0, 0, problems)
    return PackageCheck(source, len(catalog.agents), len(catalog.skills), ())


def _broken_source_notices(opened: Opened) -> list[str]:
    if not opened.problems:
        return []
    asked = f"catalog.source {opened.asked} is broken, so the built-in catalog is used"
    return [f"{asked}; git nexus catalog check shows the problems ({len(opened.problems)})"]
