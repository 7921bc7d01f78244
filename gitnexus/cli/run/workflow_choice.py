"""Shows the workflow for a prompt as a card, and lets the user change it before it starts."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import Invalid, NexusError, NotFound
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.runs.workflow.answer import only_reads
from gitnexus.runs.workflow.beyond_rules import refuse_beyond_rules
from gitnexus.runs.workflow.routing import route_prompt, unsigned_workflow_keys
from gitnexus.ui.approval_prompt import ask_line, is_person_at_terminal
from gitnexus.ui.output import print_note
from gitnexus.ui.workflow import format_proposal_card, format_workflow_nodes, format_workflow_texts
from gitnexus.workflow.definition import LARGEST, WorkflowDefinition, parse_workflow_file, render_workflow
from gitnexus.workflow.edit import with_node_agent, with_node_moved, with_node_order, without_node

if TYPE_CHECKING:
    from gitnexus.app import Nexus

_HELP = """  y            start it
  drop NODE    leave a node out
  move NODE OTHER   put a node ahead of another one
  give NODE AGENT   let another one do it: embedded, model, claude, codex, gemini, opencode, …
  edit         open all of it in your editor
  n            do not start it"""


def choose_workflow(
    nexus: "Nexus", words: Sequence[str], asked: dict[str, Any], place: Path
) -> "WorkflowDefinition | None":
    """Return the workflow as the user edited it; None if the user declined it. Raises: NexusError."""
    prompt = " ".join(words)
    if asked["cycle"]:
        from gitnexus.runs.workflow.cycle_tasks import cycle_workflow

        definition, text = cycle_workflow(nexus.state, asked["agent"] or ""), ""
    elif asked["workflow"]:
        definition, text = _read_workflow(asked["workflow"], prompt, place), ""
    else:
        for key in unsigned_workflow_keys(nexus.state):
            print_note(f"{key} of the project's settings does not count before git nexus policy trust")
        proposal = route_prompt(nexus.state, prompt)
        definition, text = proposal.definition, format_proposal_card(proposal, offer=False)
        # A worker has settings of its own, and who names a workflow or an agent has decided.
        if not (asked["queued"] or asked["give"] or proposal.source == "macro"):
            refuse_beyond_rules(nexus.state, definition, asked["base"], asked["task"])
    changed = _apply_options(definition, asked)
    if not (is_person_at_terminal() and not asked["yes"]):
        return changed
    if not asked["workflow"] and only_reads(nexus.state, changed):
        return changed
    if asked["workflow"]:
        click.echo(format_workflow_texts(changed), err=True)
    click.echo(text if changed == definition and text else format_workflow_nodes(changed), err=True)
    return _ask_to_start(changed)


def _read_workflow(file: str, prompt: str, place: Path) -> "WorkflowDefinition":
    if file == "-":
        raw = sys.stdin.buffer.read(LARGEST + 1)
    else:
        try:
            raw = (place / expand_home(file)).read_bytes()
        except OSError as exc:
            raise NotFound(f"{one_line(file, 200)} cannot be read: {exc.strerror}") from exc
    definition = parse_workflow_file(raw, one_line(file, 200))[0]
    if prompt and definition.prompt and prompt != definition.prompt:
        raise Invalid("the file already says what to do", hint="leave the prompt out, or take it out of the file")
    return definition.changed(prompt=prompt) if prompt else definition


def _apply_options(definition: "WorkflowDefinition", asked: dict[str, Any]) -> "WorkflowDefinition":
    if asked["parallel"]:
        definition = definition.changed(budgets=definition.budgets.changed(parallel=asked["parallel"]))
    for id_ in asked["drop"]:
        definition = without_node(definition, id_)
    if asked["order"]:
        definition = with_node_order(definition, tuple(one.strip() for one in asked["order"].split(",")))
    for word in asked["give"]:
        id_, sign, agent = word.partition("=")
        if not sign:
            raise Invalid(f"--give takes NODE=AGENT, not {one_line(word, 60)!r}", hint="as in --give exec=codex")
        definition = with_node_agent(definition, id_.strip(), agent.strip())
    return definition


def _ask_to_start(definition: "WorkflowDefinition") -> "WorkflowDefinition | None":
    """Ask until the user starts or declines the workflow."""
    while True:
        word = ask_line("Start it? [y/n/drop/move/give/edit/?]")
        if word is None or word.lower() in ("n", "no", "q"):
            return None
        if word.lower() in ("y", "yes"):
            return definition
        try:
            after = _apply_edit(definition, shlex.split(word))
        except (NexusError, ValueError) as exc:
            click.echo(exc.message if isinstance(exc, NexusError) else f"{exc}", err=True)
            continue
        if after is None:
            click.echo(_HELP, err=True)
        else:
            definition = after
            click.echo(format_workflow_nodes(definition), err=True)


def _apply_edit(definition: "WorkflowDefinition", words: Sequence[str]) -> "WorkflowDefinition | None":
    match words:
        case ["drop", id_]:
            return without_node(definition, id_)
        case ["move", id_, other]:
            return with_node_moved(definition, id_, other)
        case ["give", id_, agent]:
            return with_node_agent(definition, id_, agent)
        case ["edit"]:
            text = click.edit(render_workflow(definition), extension=".json")
            return definition if text is None else parse_workflow_file(text.encode(), "what you edited")[0]
        case _:
            return None
