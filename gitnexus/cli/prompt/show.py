"""`git nexus prompt show`: show the prompt of a function, and the JSON Schemas of its input and output."""

import json
from typing import TYPE_CHECKING

import click

from gitnexus.base.text import make_visible
from gitnexus.cli.prompt.words import read_words
from gitnexus.prompts import function_named
from gitnexus.prompts.model import prompt_schema
from gitnexus.prompts.words import prompt_template
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("show", cls=NexusCommand)
@click.argument("name")
@with_nexus
def show_prompt(nexus: "Nexus", name: str) -> None:
    """Show the prompt of a function, and the JSON Schemas of its input and output."""
    one = function_named(name)
    words = read_words(nexus)
    text = prompt_template(words.files, one).strip("\n")
    forms = {"input": prompt_schema(one.inputs, f"{name}.input"), "output": prompt_schema(one.output, name)}
    told = [make_visible(text), *(f"{key}:\n{json.dumps(form, indent=2)}" for key, form in forms.items())]
    payload = {
        "name": name,
        "file": one.file,
        "words": "project" if one.file in words.own else "built-in",
        "text": text,
        **forms,
    }
    print_answer(payload, "\n\n".join(told), nexus.described)
