"""Computes what a role is denied in a project: its catalog entry plus the settings, which can only add restrictions."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.catalog.catalog import Catalog

if TYPE_CHECKING:
    from gitnexus.catalog.harnesses import Harness

Additions = Mapping[str, tuple[str, ...]]


class CatalogSettings(Record):
    """The part `catalog` of a settings.json. A key that we do not know is refused: it may be a restriction misspelt."""

    source: str | None = None
    capabilities: dict[str, tuple[str, ...]] | None = None


def added_capabilities(catalog: Catalog, layers: Iterable[CatalogSettings]) -> Additions:
    """Return the capabilities that settings add to each role, those of all layers together. Raises: Invalid."""
    found: dict[str, tuple[str, ...]] = {}
    wrong: list[str] = []
    for layer in layers:
        for name, given in (layer.capabilities or {}).items():
            if name not in catalog.agents:
                wrong.append(f"there is no role {name[:60]!r}{_suggest_name(name, catalog.agents)}")
                continue
            wrong += [_why_not_added(name, one, catalog) for one in given if one not in catalog.capabilities]
            found[name] = tuple(dict.fromkeys([*found.get(name, ()), *given]))
    if wrong:
        raise Invalid(
            f"settings.json: catalog.capabilities: {'; '.join(wrong)}",
            hint=f"it maps a role to capabilities that it gets besides its own: {', '.join(catalog.capabilities)}",
            context={"wrong": wrong},
        )
    return found


def effective_capabilities(catalog: Catalog, name: str, added: Additions) -> tuple[str, ...]:
    """Return a role's capabilities: its own, then those that were added. Raises: NotFound."""
    return tuple(dict.fromkeys([*catalog.agent(name).capabilities, *added.get(name, ())]))


def denied_harness_tools(catalog: Catalog, capabilities: Iterable[str], harness: "Harness") -> tuple[str, ...]:
    """Return the tools of a harness that a role with these capabilities may not call. Raises: NotFound."""
    tools = [
        tool
        for name in capabilities
        for semantic_class in catalog.capability(name).blocks_semantic_classes
        for tool in harness.tools_of_class(semantic_class)
    ]
    return tuple(dict.fromkeys(tools))


def _why_not_added(role: str, given: str, catalog: Catalog) -> str:
    if given.startswith(("-", "!")):
        return f"{role}: {given[:60]!r} would take a capability away, and they can only be added"
    return f"{role}: there is no capability {given[:60]!r}{_suggest_name(given, catalog.capabilities)}"


def _suggest_name(word: str, names: Iterable[str]) -> str:
    close = get_close_matches(word, list(names), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
