"""`git nexus skills`: show the skills, or the text of one of them as an agent gets it."""

import os
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import make_visible, one_line
from gitnexus.catalog.harnesses import Harness, find_harness
from gitnexus.catalog.routing import Route, SkillRoute, render_skill, route_tag
from gitnexus.catalog.tags import find_tags
from gitnexus.ui.catalog import with_catalog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer

if TYPE_CHECKING:
    from gitnexus.app.catalog import CatalogInForce
    from gitnexus.catalog.model import Skill


@click.command("skills", cls=NexusCommand)
@click.argument("name", required=False)
@click.option("--harness", metavar="ID", help="For which program the text is. Default: $NEXUS_HARNESS, else git-nexus.")
@click.option("--match", metavar="MESSAGE", help="Show what the tags in a message would start.")
@with_catalog
def show_skills(here: "CatalogInForce", name: str | None, harness: str | None, match: str | None) -> None:
    """Show the skills, or the text of one of them as an agent gets it.

    A skill is started by a tag at the start of a line, such as [plan], or as a prompt of git nexus mcp. One that is
    manual is never offered by itself: only a person who names it starts it.
    """
    meant = find_harness(harness or os.environ.get("NEXUS_HARNESS") or "git-nexus")
    if match is not None and name is not None:
        raise click.UsageError("NAME and --match do not go together")
    if match is not None:
        _print_match(here, match, meant)
    elif name is not None:
        skill = here.catalog.skill(name)
        text = render_skill(here.catalog, skill, meant)
        print_answer(
            {
                "skill": {**_skill_as_row(here, skill), "bodyHash": skill.body_hash, "harness": meant.id, "text": text},
                "source": here.catalog.source,
            },
            _format_skill(here, skill, meant.name, text),
            here.described,
        )
    else:
        rows = [_skill_as_row(here, skill) for skill in here.catalog.skills.values()]
        print_answer({"skills": rows, "source": here.catalog.source}, _format_skills(rows), here.described)


def _skill_as_row(here: "CatalogInForce", skill: "Skill") -> dict[str, Any]:
    tags = [tag for tag in here.catalog.tags if tag.skill == skill.id]
    variants = [f"{tag.trigger[:-1]}:{variant}]" for tag in tags for variant in tag.variants]
    return {
        "id": skill.id,
        "name": skill.name,
        "description": skill.description,
        "summary": skill.summary or skill.description,
        "triggers": [*(tag.trigger for tag in tags), *variants],
        "manualOnly": skill.manual_only,
        "harnessNotes": list(skill.harness_docs_refs),
    }


def _format_skills(rows: list[dict[str, Any]]) -> str:
    shown = [[row["id"], " ".join(row["triggers"]) or "manual", one_line(row["summary"], 80)] for row in rows]
    tail = "The text of one: git nexus skills NAME. What a message would start: git nexus skills --match MESSAGE"
    return f"{format_columns([['skill', 'started by', 'does'], *shown], indent='')}\n\n{tail}"


def _format_skill(here: "CatalogInForce", skill: "Skill", harness: str, text: str) -> str:
    row = _skill_as_row(here, skill)
    rows = [
        ["started by", " ".join(row["triggers"]) or "a person who names it; never offered"],
        ["notes", ", ".join(map(one_line, row["harnessNotes"])) or "none"],
        ["body hash", one_line(skill.body_hash)],
    ]
    head = f"{skill.id}: {one_line(skill.description, 400)}\n{format_columns(rows)}"
    return f"{head}\n\nText for {harness}:\n\n{make_visible(text)}"


def _print_match(here: "CatalogInForce", message: str, harness: "Harness") -> None:
    routes = [route_tag(here.catalog, use, harness) for use in find_tags(message, here.catalog.tags)]
    triggers = {tag.id: tag.trigger for tag in here.catalog.tags}
    lines = [[triggers[one.use.id], *_format_route(one)] for one in routes]
    nothing = (
        "No tag: the message is only a message.\nA tag must be at the start of a line, outside of code and quotes."
    )
    print_answer(
        {"routes": [_route_as_json(one) for one in routes]},
        format_columns(lines, indent="") if lines else nothing,
        here.described,
    )


def _route_as_json(found: "Route") -> dict[str, Any]:
    use = {"tag": found.use.id, "variant": found.use.variant, "text": found.use.text}
    if isinstance(found, SkillRoute):
        return {**use, "type": "skill", "skill": found.skill, "inject": found.text}
    return {
        **use,
        "type": "inline_action",
        "tool": found.tool,
        "params": dict(found.params),
        "missing": list(found.missing),
    }


def _format_route(found: "Route") -> list[str]:
    if isinstance(found, SkillRoute):
        mode = f" ({found.use.variant})" if found.use.variant else ""
        return [f"skill {found.skill}{mode}", one_line(found.use.text, 80)]
    given = ", ".join(f"{name}={one_line(str(value), 60)}" for name, value in found.params.items())
    missing = f"; left open: {', '.join(found.missing)}" if found.missing else ""
    return [f"tool {found.tool}", f"{given or 'no parameters'}{missing}"]
