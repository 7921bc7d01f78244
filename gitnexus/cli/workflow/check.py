"""`git nexus workflow check`: check a workflow (.json), a macro (.md), or without FILE all macros of this project."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.cli.workflow.files import read_given_file
from gitnexus.cli.workflow.output import wrong_macros_as_json
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.ui.workflow import format_workflow_nodes
from gitnexus.workflow.commands import parse_custom_macro, read_custom_macros, workflow_from_macro
from gitnexus.workflow.definition import parse_workflow_file, workflow_hash

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("check", cls=NexusCommand)
@click.argument("file", metavar="[FILE]", required=False)
@with_nexus
def check_workflows(nexus: "Nexus", file: str | None) -> None:
    """Check a workflow (.json), a macro (.md), or without FILE all macros of this project."""
    if file is None:
        own, wrong = read_custom_macros(nexus.state.latest())
        if wrong:
            path, why = next(iter(wrong.items()))
            raise Invalid(
                f".nexus/{path}: {why}",
                hint="correct it and check again",
                context={"wrong": wrong_macros_as_json(wrong)},
            )
        print_answer({"checked": sorted(own)}, f"{len(own)} checked; nothing is wrong.", nexus.described)
        return
    raw = read_given_file(file)
    if file.endswith(".md"):
        definition = workflow_from_macro(parse_custom_macro(Path(file).stem, raw), "", {})
        found = workflow_hash(definition)
    else:
        definition, found = parse_workflow_file(raw, one_line(file, 200))
    text = f"{format_workflow_nodes(definition)}\n\n{found}"
    print_answer({"workflow": definition.plain(), "definitionHash": found}, text, nexus.described)
