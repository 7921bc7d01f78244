"""`git nexus route` and `git nexus workflow`: what a prompt would become, and workflows by name."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import Failed, Invalid, NotFound
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusCommand, NexusGroup, invocation
from gitnexus.ui.output import answer, columns, note, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.workflow.definition import WorkflowDefinition
    from gitnexus.workflow.packing import Limits

_FILE = click.argument("file", metavar="FILE")


@click.command("route", cls=NexusCommand)
@click.argument("words", nargs=-1, required=True, metavar="PROMPT")
@click.option("--rules", is_flag=True, help="Ask no model, even if the settings name one.")
@click.option("--output", metavar="FILE", help="Write the workflow to a new file, to be edited and checked.")
@click.option("--edit", is_flag=True, help="Open the workflow in your editor; what does not hold together is refused.")
@with_nexus
def route(nexus: "Nexus", words: tuple[str, ...], rules: bool, output: str | None, edit: bool) -> None:
    """Show which workflow a prompt would become: who does what, how much it may take, and why. Nothing is run.

    A prompt that begins with /NAME takes that workflow; one that says who does what is taken at its word.
    """
    from gitnexus.app.workflow import proposed, unsigned
    from gitnexus.ui.workflow import card
    from gitnexus.workflow.definition import written

    for key in unsigned(nexus.state):
        note(f"{key} of the project's settings does not count before git nexus policy trust")
    proposal = proposed(nexus.state, " ".join(words), model=not rules)
    if edit:
        proposal = proposal.changed(definition=_edited(proposal.definition))
    told = proposal.told()
    if output is not None:
        told["output"] = str(_new(output, written(proposal.definition).encode()))
        note(f"wrote {told['output']}; check it with: git nexus workflow check {output}")
    answer(told, lambda: card(proposal), nexus.described)


@click.group("workflow", cls=NexusGroup)
def workflow() -> None:
    """Workflows by name: built-in ones, and your own in .nexus/commands/custom/NAME.md."""


@workflow.command("list")
@with_nexus
def list_command(nexus: "Nexus") -> None:
    """List the workflows that a prompt can begin with, as /NAME."""
    from gitnexus.workflow.commands import commands_in
    from gitnexus.workflow.macros import MACROS

    own, wrong = commands_in(nexus.state.latest())
    rows = [{"name": one.name, "about": one.about, "builtIn": True} for one in MACROS.values()]
    rows += [{"name": one.name, "about": one.about, "builtIn": False} for one in own.values()]
    for path, why in wrong.items():
        note(f".nexus/{path} is no workflow: {why}")
    text = columns([[str(row["name"]), one_line(str(row["about"]), 100)] for row in rows], indent="")
    answer({"workflows": rows, "wrong": _wrong(wrong)}, text, nexus.described)


@workflow.command("show")
@click.argument("name")
@with_nexus
def show(nexus: "Nexus", name: str) -> None:
    """Show the nodes of a workflow, and the text of one of your own."""
    from gitnexus.app.workflow import known_in
    from gitnexus.ui.workflow import nodes
    from gitnexus.workflow.commands import PLACE
    from gitnexus.workflow.macros import MACROS

    known = known_in(nexus.state)
    plain = name.removeprefix("/")
    definition = known.definition(plain, PLACE)
    text = known.commands[plain].text if plain in known.commands else ""
    about = known.commands[plain].about if plain in known.commands else MACROS[plain].about
    shown = "\n".join(filter(None, [one_line(f"{plain}: {about}", 200), nodes(definition), visible(text)]))
    answer({"name": plain, "about": about, "text": text, "workflow": definition.plain()}, shown, nexus.described)


@workflow.command("check")
@click.argument("file", metavar="[FILE]", required=False)
@with_nexus
def check(nexus: "Nexus", file: str | None) -> None:
    """Check a workflow (.json), a macro (.md), or without FILE all macros of this project."""
    from gitnexus.ui.workflow import nodes
    from gitnexus.workflow.commands import command_of, commands_in, filled
    from gitnexus.workflow.definition import hash_of, read

    if file is None:
        own, wrong = commands_in(nexus.state.latest())
        if wrong:
            path, why = next(iter(wrong.items()))
            raise Invalid(f".nexus/{path}: {why}", hint="correct it and check again", context={"wrong": _wrong(wrong)})
        answer({"checked": sorted(own)}, f"{len(own)} checked; nothing is wrong.", nexus.described)
        return
    raw = _read(file)
    if file.endswith(".md"):
        definition = filled(command_of(Path(file).stem, raw), "", {})
        found = hash_of(definition)
    else:
        definition, found = read(raw, one_line(file, 200))
    text = f"{nodes(definition)}\n\n{found}"
    answer({"workflow": definition.plain(), "definitionHash": found}, text, nexus.described)


@workflow.command("specialists")
@with_nexus
def specialists(nexus: "Nexus") -> None:
    """Show who does the work of nodes here: rules, a model, or an agent's program; and what is missing for it.

    The key workflow.specialists of the settings says who: embedded, model, claude, codex and so on. Nobody is asked.
    """
    from gitnexus.app.backing import backings
    from gitnexus.app.workflow import unsigned

    for key in unsigned(nexus.state):
        note(f"{key} of the project's settings does not count before git nexus policy trust")
    found = backings(nexus.state)
    rows = [{"specialist": one.specialist, "by": one.by, "work": list(one.work), "detail": one.detail,
             "missing": one.missing} for one in found]  # fmt: skip
    shown = [[one.specialist, one.by, ", ".join(one.work), one.missing or one.detail] for one in found]
    answer({"specialists": rows}, columns(shown, indent=""), nexus.described)


@workflow.command("schema")
@click.argument("name", default="router.workflow", metavar="[NAME]")
@with_nexus
def schema(nexus: "Nexus", name: str) -> None:
    """Print the JSON Schema of a workflow; or of research, plan, plan_patch, exec.result, proposed_action."""
    from gitnexus.base.canonical import parse
    from gitnexus.workflow.schemas import schema_named

    text = schema_named(name)
    answer(lambda: {"schema": parse(text.encode())}, text.rstrip("\n"), nexus.described)


@workflow.command("batches")
@_FILE
@click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit to count files at.")
@click.option("--cu", type=click.IntRange(0), help="Complexity units of one batch; 0 is no limit.")
@click.option("--steps", type=click.IntRange(0), help="Steps of one batch.")
@click.option("--ctx-kib", type=click.IntRange(0), help="KiB of context of one batch.")
@click.option("--risk", type=click.IntRange(0), help="Risk of one batch.")
@click.option("--output", metavar="FILE", help="Write the plan with its big steps split, as proposed, to a new file.")
@with_nexus
def batches(nexus: "Nexus", /, file: str, base: str, output: str | None, **given: Any) -> None:
    """Show a plan in batches, and which of its steps are too big to run.

    The size of a step is counted from the plan and the files of the repository; limits not given are the settings'.
    """
    from gitnexus.app.workflow import batches_of, plan_in
    from gitnexus.base.canonical import document
    from gitnexus.ui.workflow import batches as batches_shown
    from gitnexus.workflow.packing import patched

    plan = plan_in(_read(file), one_line(file, 200))
    found, limits = batches_of(nexus.state, plan, base, **given)
    told = {**found.plain(), "limits": _told(limits)}
    if output is not None:
        told["output"] = str(_new(output, document(patched(plan, found.splits).plain())))
        note(f"wrote {told['output']}")
    answer(told, batches_shown(found), nexus.described)


def _edited(definition: "WorkflowDefinition") -> "WorkflowDefinition":
    from gitnexus.workflow.definition import read, written

    typed = click.edit(written(definition), extension=".json")
    return definition if typed is None else read(typed.encode(), "what you edited")[0]


def _place(name: str) -> Path:
    return start_folder(invocation(click.get_current_context())) / expand_home(name)


def _read(name: str) -> bytes:
    from gitnexus.workflow.definition import LARGEST

    if name == "-":
        return sys.stdin.buffer.read(LARGEST + 1)
    try:
        with _place(name).open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as exc:
        raise NotFound(f"{one_line(name, 200)} cannot be read: {exc.strerror}") from exc


def _new(name: str, raw: bytes) -> Path:
    place = _place(name)
    try:
        with place.open("xb") as file:
            file.write(raw)
    except FileExistsError as exc:
        raise Failed(f"{one_line(name, 200)} is there already", hint="name a new file") from exc
    except OSError as exc:
        raise Failed(f"{one_line(name, 200)} cannot be written: {exc.strerror}") from exc
    return place


def _told(limits: "Limits") -> dict[str, int]:
    return {"cu": limits.cu, "steps": limits.steps, "ctxKib": limits.ctx_kib, "risk": limits.risk}


def _wrong(wrong: dict[str, str]) -> list[dict[str, str]]:
    return [{"path": path, "why": why} for path, why in wrong.items()]
