"""`git nexus run "PROMPT"`: the workflow that it becomes, its card, and what a person changes before it starts."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import Invalid, NexusError, NotFound
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.asking import can_ask, typed
from gitnexus.ui.output import note

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.app.rundesk import RunDesk
    from gitnexus.workflow.definition import WorkflowDefinition

_HELP = """  y            start it
  drop NODE    leave a node out
  move NODE OTHER   put a node ahead of another one
  give NODE AGENT   let another one do it: embedded, model, claude, codex, gemini, opencode, …
  edit         open all of it in your editor
  n            do not start it"""


def chosen(nexus: "Nexus", words: Sequence[str], asked: dict[str, Any], place: Path) -> "WorkflowDefinition | None":
    """Return the workflow to start, as the person has it; None if they do not want it. Raises: NexusError."""
    from gitnexus.app.workflow import proposed, unsigned
    from gitnexus.ui.workflow import card, nodes, texts

    prompt = " ".join(words)
    if asked["cycle"]:
        from gitnexus.app.cyclerun import cycle_workflow

        definition, text = cycle_workflow(nexus.state, asked["agent"] or ""), ""
    elif asked["workflow"]:
        definition, text = _read(asked["workflow"], prompt, place), ""
    else:
        for key in unsigned(nexus.state):
            note(f"{key} of the project's settings does not count before git nexus policy trust")
        proposal = proposed(nexus.state, prompt)
        definition, text = proposal.definition, card(proposal, offer=False)
    changed = _changed(definition, asked)
    if not (can_ask() and not asked["yes"]):
        return changed
    if asked["workflow"]:
        click.echo(texts(changed), err=True)
    click.echo(text if changed == definition and text else nodes(changed), err=True)
    return _talked(changed)


def asks(desk: "RunDesk", question: str, text: str) -> str:
    """Put a question of a node to who sits there."""
    click.echo(f"{desk.run.id} {question} asks: {one_line(text, 1000)}", err=True)
    return typed("Your answer (empty: later):") or ""


def _read(file: str, prompt: str, place: Path) -> "WorkflowDefinition":
    from gitnexus.workflow.definition import LARGEST, read

    if file == "-":
        raw = sys.stdin.buffer.read(LARGEST + 1)
    else:
        try:
            raw = (place / expand_home(file)).read_bytes()
        except OSError as exc:
            raise NotFound(f"{one_line(file, 200)} cannot be read: {exc.strerror}") from exc
    definition = read(raw, one_line(file, 200))[0]
    if prompt and definition.prompt and prompt != definition.prompt:
        raise Invalid(
            "the file says what is to be done already", hint="leave the prompt out, or take it out of the file"
        )
    return definition.changed(prompt=prompt) if prompt else definition


def _changed(definition: "WorkflowDefinition", asked: dict[str, Any]) -> "WorkflowDefinition":
    from gitnexus.workflow.edit import dropped, given_to, reordered

    if asked["parallel"]:
        definition = definition.changed(budgets=definition.budgets.changed(parallel=asked["parallel"]))
    for id_ in asked["drop"]:
        definition = dropped(definition, id_)
    if asked["order"]:
        definition = reordered(definition, tuple(one.strip() for one in asked["order"].split(",")))
    for word in asked["give"]:
        id_, sign, agent = word.partition("=")
        if not sign:
            raise Invalid(f"--give takes NODE=AGENT, not {one_line(word, 60)!r}", hint="as in --give exec=codex")
        definition = given_to(definition, id_.strip(), agent.strip())
    return definition


def _talked(definition: "WorkflowDefinition") -> "WorkflowDefinition | None":
    """Ask until the person starts it or does not."""
    from gitnexus.ui.workflow import nodes

    while True:
        word = typed("Start it? [y/n/drop/move/give/edit/?]")
        if word is None or word.lower() in ("n", "no", "q"):
            return None
        if word.lower() in ("y", "yes"):
            return definition
        try:
            after = _edited(definition, shlex.split(word))
        except (NexusError, ValueError) as exc:
            click.echo(exc.message if isinstance(exc, NexusError) else f"{exc}", err=True)
            continue
        if after is None:
            click.echo(_HELP, err=True)
        else:
            definition = after
            click.echo(nodes(definition), err=True)


def _edited(definition: "WorkflowDefinition", words: Sequence[str]) -> "WorkflowDefinition | None":
    from gitnexus.workflow.definition import read, written
    from gitnexus.workflow.edit import dropped, given_to, moved

    match words:
        case ["drop", id_]:
            return dropped(definition, id_)
        case ["move", id_, other]:
            return moved(definition, id_, other)
        case ["give", id_, agent]:
            return given_to(definition, id_, agent)
        case ["edit"]:
            text = click.edit(written(definition), extension=".json")
            return definition if text is None else read(text.encode(), "what you edited")[0]
        case _:
            return None
