"""Reads user-defined macros, `commands/custom/NAME.md` on the state ref: front matter and a text for every node."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.frontmatter import UnclosedFrontMatter, locate_front_matter
from gitnexus.base.record import Record
from gitnexus.catalog.yamltext import parse_yaml
from gitnexus.state.snapshot import Snapshot
from gitnexus.workflow.definition import (
    RETRIES,
    NodeBudget,
    NodeInputs,
    NodeType,
    Specialist,
    WorkflowBudgets,
    WorkflowDefinition,
    check_workflow,
    make_node,
)
from gitnexus.workflow.graph import nodes_before
from gitnexus.workflow.macros import MACROS

FOLDER = "commands/custom"
VERSION = 1
LARGEST = 64 * 1024
MOST = 200
# Where the words of the prompt stand in a macro's text; without it they come after.
PLACE = "{prompt}"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_KNOWN = ("version", "about", "nodes", "budgets", "stop")


class CustomMacroStep(Record):
    """A node as a user writes it; `after` names its dependencies, by default the node before it."""

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


class CustomMacro(NamedTuple):
    """A validated user-defined macro."""

    name: str
    about: str
    steps: tuple[CustomMacroStep, ...]
    text: str
    budgets: Mapping[str, Any]
    stop: tuple[str, ...] | None


def parse_custom_macro(name: str, raw: bytes) -> CustomMacro:
    """Return the macro in a file. Raises: Invalid, naming the file and the position."""
    where = f"{FOLDER}/{name[:60]}.md"
    if not _NAME.fullmatch(name):
        raise Invalid(f"{where}: a macro's name is small letters, digits and dashes", hint="rename the file")
    if name in MACROS:
        raise Invalid(f"{where}: {name} is built in", hint="rename the file")
    head, text = _split_front_matter(raw, where)
    try:
        value = parse_yaml(head)
    except Invalid as exc:
        raise Invalid(f"{where}: {exc.message}", hint="correct the front matter") from exc
    if not isinstance(value, dict):
        raise Invalid(f"{where}: the front matter should be keys and values", hint=f"there are {', '.join(_KNOWN)}")
    unknown = sorted(value.keys() - set(_KNOWN))
    if unknown:
        # Not to be passed over: who writes mode or allow here believes that it counts.
        raise Invalid(f"{where}: {unknown[0][:40]} is not known", hint=f"there are {', '.join(_KNOWN)}")
    if value.get("version") != VERSION or type(value["version"]) is not int:
        raise Invalid(f"{where}: version should be {VERSION}", hint=f"write version: {VERSION}")
    about = value.get("about", "")
    if not isinstance(about, str) or not 0 < len(about.strip()) <= 200 or "\n" in about.strip():
        raise Invalid(f"{where}: about should be one line of at most 200 characters")
    rows = value.get("nodes")
    if not isinstance(rows, list):
        raise Invalid(f"{where}: nodes should be a list", hint="as in - {id: look, type: research}")
    steps = tuple(CustomMacroStep.from_value(row, f"{where}: nodes[{at}]") for at, row in enumerate(rows))
    found = CustomMacro(name, about.strip(), steps, text, value.get("budgets") or {}, value.get("stop"))
    workflow_from_macro(found, "x", {})  # whatever is wrong with it is told when it is read, not when it is needed
    return found


def workflow_from_macro(
    command: CustomMacro,
    prompt: str,
    specialists: Mapping[Specialist, str],
    budgets: WorkflowBudgets | None = None,
) -> WorkflowDefinition:
    """Return the workflow of a macro for a prompt. Raises: Invalid."""
    where = f"{FOLDER}/{command.name}.md"
    edges = _edges_of_steps(command.steps)
    nodes = []
    for step in command.steps:
        nearly = make_node(step.id, step.type, adapter=step.agent)
        adapter = step.agent or ("" if step.type == "command" else specialists.get(nearly.specialist, ""))
        uses = tuple(one.id for one in command.steps if one.id in nodes_before(step.id, edges))
        nodes.append(
            make_node(
                step.id,
                step.type,
                adapter=adapter,
                model=step.model,
                role=step.role,
                prompt=step.prompt,
                argv=step.argv,
                inputs=NodeInputs(uses=uses, refs=step.refs),
                budget=step.budget or NodeBudget(retries=RETRIES),
            )
        )
    limits = (budgets or WorkflowBudgets()).plain()
    if not isinstance(command.budgets, dict):
        raise Invalid(f"{where}: budgets should be keys and values")
    value = {
        "name": command.name,
        "prompt": _insert_prompt(command.text, prompt),
        "nodes": [one.plain() for one in nodes],
        "edges": [list(edge) for edge in edges],
        "budgets": tightened_limits(limits, command.budgets, where),
        **({"stop": command.stop} if command.stop is not None else {}),
    }
    return check_workflow(WorkflowDefinition.from_value(value, where), where)


def tightened_limits(limits: Mapping[str, int], asked: Mapping[str, Any], where: str) -> dict[str, int]:
    """Return the limits lowered to those of a macro, never raised; 0 is no limit. Raises: Invalid."""
    found = dict(limits)
    for key, value in asked.items():
        if key not in limits:
            raise Invalid(f"{where}: budgets: {str(key)[:40]} is not known", hint=f"there are {', '.join(limits)}")
        if type(value) is not int or value < 0:
            raise Invalid(f"{where}: budgets: {key} should be a whole number")
        found[key] = min(value or limits[key], limits[key] or value)
    return found


def read_custom_macros(snapshot: Snapshot) -> tuple[dict[str, CustomMacro], dict[str, str]]:
    """Return the macros of a project by name, and the errors of invalid files by path."""
    found: dict[str, CustomMacro] = {}
    wrong: dict[str, str] = {}
    for file, raw in list(snapshot.files(FOLDER).items())[:MOST]:
        if not file.endswith(".md"):
            wrong[f"{FOLDER}/{file}"] = "a macro is a file whose name ends with .md"
            continue
        name = file.removesuffix(".md")
        try:
            found[name] = parse_custom_macro(name, raw)
        except NexusError as exc:
            wrong[f"{FOLDER}/{file}"] = exc.message.removeprefix(f"{FOLDER}/{file}: ")
    return found, wrong


def _split_front_matter(raw: bytes, where: str) -> tuple[bytes, str]:
    """Return the front matter and the text below it. Raises: Invalid."""
    if len(raw) > LARGEST:
        raise Invalid(f"{where}: it is larger than {LARGEST // 1024} KiB")
    raw = raw.replace(b"\r\n", b"\n")
    try:
        place = locate_front_matter(raw)
    except UnclosedFrontMatter:
        place = None
    if place is None:
        raise Invalid(f"{where}: it should begin with a front matter", hint="a line ---, the keys, a line --- again")
    try:
        return raw[place.start : place.end], raw[place.text :].decode("utf-8").strip()
    except UnicodeDecodeError as exc:
        raise Invalid(f"{where}: the text is not UTF-8") from exc


def _edges_of_steps(steps: tuple[CustomMacroStep, ...]) -> tuple[tuple[str, str], ...]:
    found = []
    for at, step in enumerate(steps):
        after = step.after if step.after is not None else tuple(one.id for one in steps[max(0, at - 1) : at])
        found += [(one, step.id) for one in after]
    return tuple(found)


def _insert_prompt(text: str, prompt: str) -> str:
    if not text:
        return prompt
    # One pass: what the prompt itself holds is never taken for the place.
    return text.replace(PLACE, prompt) if PLACE in text else f"{text}\n\n{prompt}".rstrip()
