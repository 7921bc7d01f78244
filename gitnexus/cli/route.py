"""`git nexus route`: show which workflow a prompt would become: who does what, how much it may take, and why."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.workflow.files import write_new_file
from gitnexus.runs.workflow.routing import route_prompt, unsigned_workflow_keys
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.workflow import format_proposal_card
from gitnexus.workflow.definition import WorkflowDefinition, parse_workflow_file, render_workflow
from gitnexus.workflow.small_talk import reply_to_small_talk

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("route", cls=NexusCommand)
@click.argument("words", nargs=-1, required=True, metavar="PROMPT")
@click.option("--rules", is_flag=True, help="Ask no model, even if the settings name one.")
@click.option("--output", metavar="FILE", help="Write the workflow to a new file, to be edited and checked.")
@click.option("--edit", is_flag=True, help="Open the workflow in your editor; an invalid one is refused.")
@with_nexus
def show_route(nexus: "Nexus", words: tuple[str, ...], rules: bool, output: str | None, edit: bool) -> None:
    """Show which workflow a prompt would become: who does what, how much it may take, and why. Nothing is run.

    A prompt that begins with /NAME uses that workflow; a prompt that assigns the work to agents is followed literally.
    """
    for key in unsigned_workflow_keys(nexus.state):
        print_note(f"{key} of the project's settings does not count before git nexus policy trust")
    reply = reply_to_small_talk(" ".join(words))
    proposal = route_prompt(nexus.state, " ".join(words), model=not rules and not reply)
    if edit:
        proposal = proposal.changed(definition=_edit_workflow(proposal.definition))
    told = proposal.as_json()
    if output is not None:
        told["output"] = str(write_new_file(output, render_workflow(proposal.definition).encode()))
        print_note(f"wrote {told['output']}; check it with: git nexus workflow check {output}")
    if reply:
        told["reply"] = reply
    shown = f"No workflow: git nexus run answers this at once.\n\n{reply}" if reply else None
    print_answer(told, lambda: shown or format_proposal_card(proposal), nexus.described)


def _edit_workflow(definition: "WorkflowDefinition") -> "WorkflowDefinition":
    typed = click.edit(render_workflow(definition), extension=".json")
    return definition if typed is None else parse_workflow_file(typed.encode(), "what you edited")[0]
