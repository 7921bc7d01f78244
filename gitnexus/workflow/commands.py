"""Reads user-defined macros, `commands/custom/NAME.md` on the state ref: front matter and a text for every node."""

import re
from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import Field

from gitnexus.base.document import Document, Many, has_form
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.frontmatter import UnclosedFrontMatter, locate_front_matter
from gitnexus.base.spelling import suggest_word
from gitnexus.catalog.yamltext import parse_yaml
from gitnexus.state.snapshot import Snapshot
from gitnexus.workflow.definition import (
    RETRIES,
    Adapter,
    Amount,
    Name,
    NodeBudget,
    NodeId,
    NodeInputs,
    NodeType,
    Prompt,
    Reference,
    Specialist,
    StopOn,
    WorkflowBudgets,
    WorkflowDefinition,
    make_node,
    parse_workflow,
)
from gitnexus.workflow.graph import nodes_before
from gitnexus.workflow.macros import MACROS

FOLDER = "commands/custom"
VERSION = 1
LARGEST = 64 * 1024
MOST = 200
# Where the words of the prompt are inserted in a macro's text; without it they are appended.
PLACE = "{prompt}"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


class CustomMacroStep(Document):
    """A node as a user writes it; `after` names its dependencies, by default the node before it."""

    id: NodeId
    type: NodeType
    agent: Adapter = ""
    model: Name = ""
    role: Name = ""
    prompt: Prompt = ""
    argv: Many[Prompt] = ()
    refs: Many[Reference] = ()
    after: Many[NodeId] | None = None
    budget: NodeBudget | None = None


class CustomMacroHead(Document):
    """The front matter of a user-defined macro. `budgets` lower the project's limits and never raise them."""

    version: int
    about: Annotated[str, Field(max_length=200), *has_form(r"\s*\S.*\s*", "one line that says what the macro does")]
    nodes: Many[CustomMacroStep]
    budgets: dict[str, Amount] = Field(default_factory=dict)
    stop: Many[StopOn] | None = None


class CustomMacro(NamedTuple):
    """A validated user-defined macro: its front matter, and the text below it."""

    name: str
    head: CustomMacroHead
    text: str

    @property
    def about(self) -> str:
        return self.head.about.strip()


def parse_custom_macro(name: str, raw: bytes) -> CustomMacro:
    """Return the macro in a file. Raises: Invalid, naming the file and the position."""
    where = f"{FOLDER}/{name[:60]}.md"
    if not _NAME.fullmatch(name):
        raise Invalid(f"{where}: a macro's name is lower-case letters, digits and dashes", hint="rename the file")
    if name in MACROS:
        raise Invalid(f"{where}: {name} is built in", hint="rename the file")
    head, text = _split_front_matter(raw, where)
    try:
        value = parse_yaml(head)
    except Invalid as exc:
        raise Invalid(f"{where}: {exc.message}", hint="correct the front matter") from exc
    macro = CustomMacro(name, CustomMacroHead.from_value(value, where), text)
    if macro.head.version != VERSION:
        raise Invalid(f"{where}: version should be {VERSION}", hint=f"write version: {VERSION}")
    workflow_from_macro(macro, "x", {})  # whatever is wrong with it is reported when it is read, not when it is used
    return macro


def workflow_from_macro(
    macro: CustomMacro,
    prompt: str,
    specialists: Mapping[Specialist, str],
    budgets: WorkflowBudgets | None = None,
) -> WorkflowDefinition:
    """Return the workflow of a macro for a prompt. Raises: Invalid."""
    where = f"{FOLDER}/{macro.name}.md"
    edges = _edges_of_steps(macro.head.nodes)
    nodes = []
    for step in macro.head.nodes:
        nearly = make_node(step.id, step.type, adapter=step.agent)
        adapter = step.agent or ("" if step.type == "command" else specialists.get(nearly.specialist, ""))
        uses = tuple(one.id for one in macro.head.nodes if one.id in nodes_before(step.id, edges))
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
    value = {
        "name": macro.name,
        "prompt": _insert_prompt(macro.text, prompt),
        "nodes": [one.plain() for one in nodes],
        "edges": [list(edge) for edge in edges],
        "budgets": tightened_limits(limits, macro.head.budgets, where),
        **({"stop": list(macro.head.stop)} if macro.head.stop is not None else {}),
    }
    return parse_workflow(value, where)


def tightened_limits(limits: Mapping[str, int], asked: Mapping[str, int], where: str) -> dict[str, int]:
    """Return the limits lowered to those of a macro, never raised; 0 is no limit. Raises: Invalid."""
    found = dict(limits)
    for key, value in asked.items():
        if key not in limits:
            raise Invalid(f"{where}: budgets: {key[:40]} is not known", hint=suggest_word(key, limits))
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
            meant = f" ({exc.hint})" if exc.hint and exc.hint.startswith("did you mean") else ""
            wrong[f"{FOLDER}/{file}"] = exc.message.removeprefix(f"{FOLDER}/{file}: ") + meant
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
