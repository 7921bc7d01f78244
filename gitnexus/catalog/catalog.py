"""A catalog that was read and found whole: roles, skills, and the words they use, by id."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from gitnexus.base.errors import NotFound
from gitnexus.catalog.model import Agent, Capability, Manifest, Skill, Tag

BUILT_IN = "built-in"
T = TypeVar("T")


@dataclass(frozen=True)
class Catalog:
    """What a manifest says, and its prompts: `body("agents/engineer")`. Read only, so it can be shared."""

    source: str
    manifest: Manifest
    body: Callable[[str], str]

    @cached_property
    def agents(self) -> dict[str, Agent]:
        """The roles, those that advise first, then who makes, then who checks, as the vocabulary orders them."""
        order = {category.id: at for at, category in enumerate(self.manifest.vocabulary.categories)}
        rows = sorted(self.manifest.agents, key=lambda agent: (order[agent.category], agent.id))
        return {agent.id: agent for agent in rows}

    @cached_property
    def skills(self) -> dict[str, Skill]:
        """The skills."""
        return {skill.id: skill for skill in sorted(self.manifest.skills, key=lambda skill: skill.id)}

    @cached_property
    def capabilities(self) -> dict[str, Capability]:
        """The capabilities, in the order of the vocabulary."""
        return {capability.id: capability for capability in self.manifest.vocabulary.capabilities}

    @property
    def tags(self) -> tuple[Tag, ...]:
        """The tags, in the order of the vocabulary."""
        return self.manifest.vocabulary.tags

    def agent(self, name: str) -> Agent:
        """Return a role. Raises: NotFound."""
        return _named("role", name, self.agents)

    def skill(self, name: str) -> Skill:
        """Return a skill. Raises: NotFound."""
        return _named("skill", name, self.skills)

    def capability(self, name: str) -> Capability:
        """Return a capability. Raises: NotFound."""
        return _named("capability", name, self.capabilities)


def _named(kind: str, name: str, there: Mapping[str, T]) -> T:
    if name not in there:
        raise NotFound(f"there is no {kind} {name[:60]!r}", hint=f"there are: {', '.join(there)}")
    return there[name]
