"""`git nexus prompt list`: list the functions, where their prompts come from, and which model each would ask."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.cli.prompt.words import read_words
from gitnexus.prompts import FUNCTIONS
from gitnexus.prompts.in_project import read_prompt_settings
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("list", cls=NexusCommand)
@with_nexus
def list_prompts(nexus: "Nexus") -> None:
    """List the functions, where their prompts come from, and which model each would ask."""
    settings = read_prompt_settings(nexus.state)
    words = read_words(nexus)
    rows: list[dict[str, Any]] = [
        {
            "name": one.name,
            "about": one.about,
            "file": one.file,
            "words": "project" if one.file in words.own else "built-in",
            "via": settings.via,
            "model": settings.functions.get(one.name, settings.endpoint).model,
        }
        for one in FUNCTIONS.values()
    ]
    shown = format_columns(
        [[row["name"], row["about"], row["words"], one_line(row["model"], 60) or "no model set"] for row in rows],
        indent="",
    )
    ignored = [{"file": name, "why": why} for name, why in words.ignored.items()]
    print_answer({"prompts": rows, "ignored": ignored}, shown, nexus.described)
