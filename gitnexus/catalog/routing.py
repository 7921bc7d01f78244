"""Resolves a tag to its target: the text of a skill for the current harness, or one tool call."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitnexus.catalog.catalog import Catalog
from gitnexus.catalog.harnesses import Harness
from gitnexus.catalog.model import Skill
from gitnexus.catalog.tags import TagUse

# The handlers that a vocabulary can name, and the tool that each one is.
HANDLERS: dict[str, str] = {
    "nx_plan_decide": "plan_decide",
    "memory_store": "memory_store",
    "memory_gc": "memory_gc",
    "rule_store": "rule_store",
}
# How a skill is named where references are kept, as in skill:nx-plan#auto.
SKILL = "skill:"
# The issue that a decision is about: `#2 …`, `issue 2: …`, `issue #2 …`, `2: …`. A bare number needs its colon.
_ISSUE = re.compile(r"(?:issue\s*)?#(\d{1,9})\b[:.,]?\s*|issue\s+(\d{1,9})\b[:.,]?\s*|(\d{1,9}):\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SkillRoute:
    """A skill is started: `text` is what the agent gets to read."""

    use: TagUse
    skill: str
    text: str

    @property
    def ref(self) -> str:
        """The skill as a reference, its variant behind it."""
        return f"{SKILL}{self.skill}#{self.use.variant}" if self.use.variant else f"{SKILL}{self.skill}"


@dataclass(frozen=True, slots=True)
class ActionRoute:
    """A tool call that starts at once. The values of `missing` were not in the message: the caller must supply them."""

    use: TagUse
    tool: str
    params: Mapping[str, Any]
    missing: tuple[str, ...]


Route = SkillRoute | ActionRoute


def route_tag(catalog: Catalog, use: TagUse, harness: Harness) -> Route:
    """Return the skill or tool that a tag of this catalog refers to."""
    tag = next(tag for tag in catalog.tags if tag.id == use.id)
    if tag.type == "skill":
        skill = catalog.skill(tag.skill or "")
        return SkillRoute(use, skill.id, render_skill(catalog, skill, harness, variant=use.variant, matter=use.text))
    tool = HANDLERS[tag.handler or ""]
    params, missing = _params_for_tool(tool, use)
    return ActionRoute(use, tool, params, missing)


def render_skill(
    catalog: Catalog, skill: Skill, harness: Harness, *, variant: str | None = None, matter: str | None = None
) -> str:
    """Return a skill's prompt, with this harness's text on the topics that it asks for, and the user's message."""
    parts = [catalog.body(f"skills/{skill.id}").rstrip("\n")]
    notes = [note for topic, note in harness.notes.items() if topic in skill.harness_docs_refs]
    notes += _macro_notes(catalog, parts[0])
    if notes:
        parts.append("\n\n".join([f"## In {harness.name}", *notes]))
    if variant:
        parts.append(f"The mode: {variant}")
    if matter:
        parts.append(f"The matter: {matter}")
    return "\n\n".join(parts)


def _macro_notes(catalog: Catalog, body: str) -> list[str]:
    """Return what `{{name …}}` in a prompt of upstream's means; what a harness does not have, it does by hand."""
    if "{{" not in body:  # as in our own: then all the other records of a manifest are not needed
        return []
    return [
        f"{{{{{invocation.id} …}}}} means: {invocation.description.strip()} {invocation.fallback_behavior.strip()}"
        for invocation in catalog.manifest.vocabulary.invocations
        if f"{{{{{invocation.id}" in body
    ]


def _params_for_tool(tool: str, use: TagUse) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parameters that a message gives for a tool, and those that it leaves open."""
    if tool == "memory_gc":
        return {}, ()
    if tool != "plan_decide":
        tag = {"tag": use.variant} if tool == "rule_store" and use.variant else {}
        return {**({"text": use.text} if use.text else {}), **tag}, () if use.text else ("text",)
    numbered = _ISSUE.match(use.text)
    decision = use.text[numbered.end() :] if numbered else use.text
    number = next(filter(None, numbered.groups())) if numbered else None
    found = {**({"issue_id": int(number)} if number else {}), **({"decision": decision} if decision else {})}
    return found, tuple(name for name in ("issue_id", "decision") if name not in found)
