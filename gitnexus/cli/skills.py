"""`git nexus skills`: ways of working, and what a message would start."""

import os
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.catalog import with_catalog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, columns

if TYPE_CHECKING:
    from gitnexus.app.catalog import CatalogHere
    from gitnexus.catalog.harnesses import Harness
    from gitnexus.catalog.model import Skill
    from gitnexus.catalog.routing import Route


@click.command("skills", cls=NexusCommand)
@click.argument("name", required=False)
@click.option("--harness", metavar="ID", help="For which program the text is. Default: $NEXUS_HARNESS, else git-nexus.")
@click.option("--match", metavar="MESSAGE", help="Tell what the tags in a message would start.")
@with_catalog
def skills(here: "CatalogHere", name: str | None, harness: str | None, match: str | None) -> None:
    """Show the skills, or the text of one of them as an agent gets it.

    A skill is started by a tag at the start of a line, such as [plan], or as a prompt of git nexus mcp. One that is
    manual is never offered by itself: only a person who names it starts it.
    """
    from gitnexus.catalog.harnesses import harness_named
    from gitnexus.catalog.routing import skill_text

    meant = harness_named(harness or os.environ.get("NEXUS_HARNESS") or "git-nexus")
    if match is not None and name is not None:
        raise click.UsageError("NAME and --match do not go together")
    if match is not None:
        _answer_match(here, match, meant)
    elif name is not None:
        skill = here.catalog.skill(name)
        text = skill_text(here.catalog, skill, meant)
        answer({"skill": {**_row(here, skill), "bodyHash": skill.body_hash, "harness": meant.id, "text": text},
                "source": here.catalog.source}, _page(here, skill, meant.name, text), here.described)  # fmt: skip
    else:
        rows = [_row(here, skill) for skill in here.catalog.skills.values()]
        answer({"skills": rows, "source": here.catalog.source}, _screen(rows), here.described)


def _row(here: "CatalogHere", skill: "Skill") -> dict[str, Any]:
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


def _screen(rows: list[dict[str, Any]]) -> str:
    shown = [[row["id"], " ".join(row["triggers"]) or "manual", one_line(row["summary"], 80)] for row in rows]
    tail = "The text of one: git nexus skills NAME. What a message would start: git nexus skills --match MESSAGE"
    return f"{columns([['skill', 'started by', 'does'], *shown], indent='')}\n\n{tail}"


def _page(here: "CatalogHere", skill: "Skill", harness: str, text: str) -> str:
    row = _row(here, skill)
    rows = [
        ["started by", " ".join(row["triggers"]) or "a person who names it; never offered"],
        ["notes", ", ".join(map(one_line, row["harnessNotes"])) or "none"],
        ["body hash", one_line(skill.body_hash)],
    ]
    return f"{skill.id}: {one_line(skill.description, 400)}\n{columns(rows)}\n\nText for {harness}:\n\n{visible(text)}"


def _answer_match(here: "CatalogHere", message: str, harness: "Harness") -> None:
    from gitnexus.catalog.routing import route
    from gitnexus.catalog.tags import tags_in

    routes = [route(here.catalog, use, harness) for use in tags_in(message, here.catalog.tags)]
    triggers = {tag.id: tag.trigger for tag in here.catalog.tags}
    lines = [[triggers[one.use.id], *_line(one)] for one in routes]
    nothing = "No tag: the message is only a message.\nA tag stands at the start of a line, outside of code and quotes."
    answer({"routes": [_plain(one) for one in routes]}, columns(lines, indent="") if lines else nothing, here.described)


def _plain(found: "Route") -> dict[str, Any]:
    from gitnexus.catalog.routing import SkillRoute

    use = {"tag": found.use.id, "variant": found.use.variant, "text": found.use.text}
    if isinstance(found, SkillRoute):
        return {**use, "type": "skill", "skill": found.skill, "inject": found.text}
    return {**use, "type": "inline_action", "tool": found.tool, "params": dict(found.params),
            "missing": list(found.missing)}  # fmt: skip


def _line(found: "Route") -> list[str]:
    from gitnexus.catalog.routing import SkillRoute

    if isinstance(found, SkillRoute):
        mode = f" ({found.use.variant})" if found.use.variant else ""
        return [f"skill {found.skill}{mode}", one_line(found.use.text, 80)]
    given = ", ".join(f"{name}={one_line(str(value), 60)}" for name, value in found.params.items())
    missing = f"; left open: {', '.join(found.missing)}" if found.missing else ""
    return [f"tool {found.tool}", f"{given or 'no parameters'}{missing}"]
