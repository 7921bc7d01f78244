"""Macros that people write: `commands/custom/NAME.md` on the state ref, a front matter and a text for every node."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.record import Record
from gitnexus.catalog.yamltext import value_of
from gitnexus.state.snapshot import Snapshot
from gitnexus.workflow.definition import (
    NodeBudget,
    NodeInputs,
    NodeType,
    Specialist,
    WorkflowBudgets,
    WorkflowDefinition,
    checked,
    node,
)
from gitnexus.workflow.graph import before
from gitnexus.workflow.macros import MACROS

FOLDER = "commands/custom"
VERSION = 1
LARGEST = 64 * 1024
MOST = 200
# Where the words of the prompt stand in a macro's text; without it they come after.
PLACE = "{prompt}"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_KNOWN = ("version", "about", "nodes", "budgets", "stop")


class Step(Record):
    """A node as a person writes it; `after` names those that it waits for, the one before it if nothing is said."""

    id: str
    type: NodeType
    agent: str = ""
    model: str = ""
    role: str = ""
    prompt: str = ""
    argv: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None
    budget: NodeBudget | None = None


class Command(NamedTuple):
    """A macro of somebody's own, read and checked."""

    name: str
    about: str
    steps: tuple[Step, ...]
    text: str
    budgets: Mapping[str, Any]
    stop: tuple[str, ...] | None


def command_of(name: str, raw: bytes) -> Command:
    """Return the macro in a file. Raises: Invalid, naming the file and the place."""
    where = f"{FOLDER}/{name[:60]}.md"
    if not _NAME.fullmatch(name):
        raise Invalid(f"{where}: a macro's name is small letters, digits and dashes", hint="rename the file")
    if name in MACROS:
        raise Invalid(f"{where}: {name} is built in", hint="rename the file")
    head, text = _parts(raw, where)
    try:
        value = value_of(head)
    except Invalid as exc:
        raise Invalid(f"{where}: {exc.message}", hint="correct the front matter") from exc
    if not isinstance(value, dict):
        raise Invalid(f"{where}: the front matter should be keys and values", hint=f"there are {', '.join(_KNOWN)}")
    unknown = sorted(value.keys() - set(_KNOWN))
    if unknown:
        # Not to be passed over: who writes mode or allow here believes that it counts.
        raise Invalid(f"{where}: {unknown[0][:40]} is not known", hint=f"there are {', '.join(_KNOWN)}")
    if value.get("version") != VERSION or isinstance(value.get("version"), bool):
        raise Invalid(f"{where}: version should be {VERSION}", hint=f"write version: {VERSION}")
    about = value.get("about", "")
    if not isinstance(about, str) or not 0 < len(about.strip()) <= 200 or "\n" in about.strip():
        raise Invalid(f"{where}: about should be one line of at most 200 characters")
    rows = value.get("nodes")
    if not isinstance(rows, list):
        raise Invalid(f"{where}: nodes should be a list", hint="as in - {id: look, type: research}")
    steps = tuple(Step.from_value(row, f"{where}: nodes[{at}]") for at, row in enumerate(rows))
    found = Command(name, about.strip(), steps, text, value.get("budgets") or {}, value.get("stop"))
    filled(found, "x", {})  # whatever is wrong with it is told when it is read, not when it is needed
    return found


def filled(
    command: Command,
    prompt: str,
    specialists: Mapping[Specialist, str],
    budgets: WorkflowBudgets | None = None,
) -> WorkflowDefinition:
    """Return a macro as the workflow for a prompt. Raises: Invalid."""
    where = f"{FOLDER}/{command.name}.md"
    edges = _edges(command.steps)
    nodes = []
    for step in command.steps:
        nearly = node(step.id, step.type, adapter=step.agent)
        adapter = step.agent or ("" if step.type == "command" else specialists.get(nearly.specialist, ""))
        uses = tuple(one.id for one in command.steps if one.id in before(step.id, edges))
        nodes.append(
            node(
                step.id,
                step.type,
                adapter=adapter,
                model=step.model,
                role=step.role,
                prompt=step.prompt,
                argv=step.argv,
                inputs=NodeInputs(uses=uses, refs=step.refs),
                budget=step.budget or NodeBudget(),
            )
        )
    limits = (budgets or WorkflowBudgets()).plain()
    if not isinstance(command.budgets, dict):
        raise Invalid(f"{where}: budgets should be keys and values")
    value = {
        "name": command.name,
        "prompt": _worded(command.text, prompt),
        "nodes": [one.plain() for one in nodes],
        "edges": [list(edge) for edge in edges],
        "budgets": tightened(limits, command.budgets, where),
        **({"stop": command.stop} if command.stop is not None else {}),
    }
    return checked(WorkflowDefinition.from_value(value, where), where)


def tightened(limits: Mapping[str, int], asked: Mapping[str, Any], where: str) -> dict[str, int]:
    """Return the limits with those that a macro asks for: less, never more; 0 is no limit. Raises: Invalid."""
    found = dict(limits)
    for key, value in asked.items():
        if key not in limits:
            raise Invalid(f"{where}: budgets: {str(key)[:40]} is not known", hint=f"there are {', '.join(limits)}")
        if type(value) is not int or value < 0:
            raise Invalid(f"{where}: budgets: {key} should be a whole number")
        found[key] = min(value or limits[key], limits[key] or value)
    return found


def commands_in(snapshot: Snapshot) -> tuple[dict[str, Command], dict[str, str]]:
    """Return the macros of a project by name, and what is wrong with the files that are none, by path."""
    found: dict[str, Command] = {}
    wrong: dict[str, str] = {}
    for file, raw in list(snapshot.files(FOLDER).items())[:MOST]:
        if not file.endswith(".md"):
            wrong[f"{FOLDER}/{file}"] = "a macro is a file whose name ends with .md"
            continue
        name = file.removesuffix(".md")
        try:
            found[name] = command_of(name, raw)
        except NexusError as exc:
            wrong[f"{FOLDER}/{file}"] = exc.message.removeprefix(f"{FOLDER}/{file}: ")
    return found, wrong


def _parts(raw: bytes, where: str) -> tuple[bytes, str]:
    """Return the front matter and the text below it. Raises: Invalid."""
    if len(raw) > LARGEST:
        raise Invalid(f"{where}: it is larger than {LARGEST // 1024} KiB")
    lines = raw.replace(b"\r\n", b"\n").split(b"\n")
    if lines[0].rstrip() != b"---" or b"---" not in [line.rstrip() for line in lines[1:]]:
        raise Invalid(f"{where}: it should begin with a front matter", hint="a line ---, the keys, a line --- again")
    end = [line.rstrip() for line in lines[1:]].index(b"---") + 1
    try:
        return b"\n".join(lines[1:end]), b"\n".join(lines[end + 1 :]).decode("utf-8").strip()
    except UnicodeDecodeError as exc:
        raise Invalid(f"{where}: the text is not UTF-8") from exc


def _edges(steps: tuple[Step, ...]) -> tuple[tuple[str, str], ...]:
    found = []
    for at, step in enumerate(steps):
        after = step.after if step.after is not None else tuple(one.id for one in steps[max(0, at - 1) : at])
        found += [(one, step.id) for one in after]
    return tuple(found)


def _worded(text: str, prompt: str) -> str:
    if not text:
        return prompt
    # One pass: what the prompt itself holds is never taken for the place.
    return text.replace(PLACE, prompt) if PLACE in text else f"{text}\n\n{prompt}".rstrip()
