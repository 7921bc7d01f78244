"""Offers the skills of the catalog as MCP prompts, manual ones included, because a person picks a prompt by name."""

from mcp import types

from gitnexus.catalog import Catalog
from gitnexus.catalog.harnesses import HARNESSES
from gitnexus.catalog.routing import render_skill

_MATTER = types.PromptArgument(name="matter", description="What it is about, in your words.", required=False)


def list_skill_prompts(catalog: Catalog) -> list[types.Prompt]:
    """Return the skills as a client lists prompts."""
    return [
        types.Prompt(name=skill.id, description=skill.description, arguments=[_MATTER])
        for skill in catalog.skills.values()
    ]


def render_skill_prompt(catalog: Catalog, name: str, harness: str, matter: str | None) -> types.GetPromptResult:
    """Return a skill's text for a harness, with the matter at hand. Raises: NotFound."""
    skill = catalog.skill(name)
    text = render_skill(catalog, skill, HARNESSES.get(harness) or HARNESSES["git-nexus"], matter=matter)
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=skill.description, messages=[message])
