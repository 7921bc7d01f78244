"""A validated catalog: roles, skills and vocabulary by id."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from gitnexus.base.errors import NotFound
from gitnexus.catalog.model import Agent, Capability, Category, Skill, Tag

if TYPE_CHECKING:
    from gitnexus.catalog.manifest import Manifest

BUILT_IN = "built-in"
T = TypeVar("T")


@dataclass(frozen=True)
class Catalog:
    """The content of a manifest, and its prompts: `body("agents/engineer")`. Read only, so it can be shared.

    `also` are built-in capabilities that the manifest does not define; settings may still add them to its roles.
    """

    source: str
    value: Mapping[str, Any]
    body: Callable[[str], str]
    also: tuple[Capability, ...] = ()

    @cached_property
    def agents(self) -> dict[str, Agent]:
        """The roles, those that advise first, then who makes, then who checks, as the vocabulary orders them."""
        categories = [Category.from_value(row, self.source).id for row in self.value["vocabulary"]["categories"]]
        rows = [Agent.from_value(row, self.source) for row in self.value["agents"]]
        return {agent.id: agent for agent in sorted(rows, key=lambda row: (categories.index(row.category), row.id))}

    @cached_property
    def skills(self) -> dict[str, Skill]:
        """The skills."""
        rows = [Skill.from_value(row, self.source) for row in self.value["skills"]]
        return {skill.id: skill for skill in sorted(rows, key=lambda row: row.id)}

    @cached_property
    def capabilities(self) -> dict[str, Capability]:
        """The capabilities, in the order of the vocabulary, then ours that it lacks."""
        rows = [Capability.from_value(row, self.source) for row in self.value["vocabulary"]["capabilities"]]
        known = {capability.id: capability for capability in rows}
        return {**known, **{capability.id: capability for capability in self.also if capability.id not in known}}

    @cached_property
    def tags(self) -> tuple[Tag, ...]:
        """The tags, in the order of the vocabulary."""
        return tuple(Tag.from_value(row, self.source) for row in self.value["vocabulary"]["tags"])

    @cached_property
    def manifest(self) -> "Manifest":
        """All of it."""
        from gitnexus.catalog.manifest import Manifest  # 10 ms of records that the rest does not need

        return Manifest.from_value(self.value, self.source)

    def agent(self, name: str) -> Agent:
        """Return a role. Raises: NotFound."""
        return _find_by_name("role", name, self.agents)

    def skill(self, name: str) -> Skill:
        """Return a skill. Raises: NotFound."""
        return _find_by_name("skill", name, self.skills)

    def capability(self, name: str) -> Capability:
        """Return a capability. Raises: NotFound."""
        return _find_by_name("capability", name, self.capabilities)


def _find_by_name(kind: str, name: str, there: Mapping[str, T]) -> T:
    if name not in there:
        raise NotFound(f"there is no {kind} {name[:60]!r}", hint=f"there are: {', '.join(there)}")
    return there[name]
