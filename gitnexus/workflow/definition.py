"""The workflow definition: nodes, dependencies, budgets, and the hash that identifies it; parsing and rendering."""

import json
import re
from dataclasses import field
from typing import Any, Literal

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.events.model import definition_hash
from gitnexus.policy.model import Mode
from gitnexus.workflow.graph import check_graph
from gitnexus.workflow.run_definition import VERSION as RUN_VERSION
from gitnexus.workflow.run_definition import RunBudgets, RunDefinition, RunNode, Way

# What `git nexus run -- CMD` writes is version 1 and stays so: logs of runs are chained to the hash of it.
VERSION = 2
NodeType = Literal["research", "plan", "plan_patch", "exec", "review", "command"]
Specialist = Literal["researcher", "planner", "executor"]
StopOn = Literal["failed", "blocked", "denied", "budget"]

SPECIALISTS: dict[NodeType, Specialist] = {
    "research": "researcher",
    "plan": "planner",
    "plan_patch": "planner",
    "exec": "executor",
    "review": "researcher",
    "command": "executor",
}
OUTPUTS: dict[NodeType, tuple[str, ...]] = {
    "research": ("research.json", "research.md"),
    "plan": ("plan.json",),
    "plan_patch": ("plan_patch.json",),
    "exec": ("exec_result.json",),
    "review": ("review.json", "review.md"),
    "command": ("output.log",),
}
# Who backs a specialist besides the adapters: rules that need no model, and a typed model call.
EMBEDDED, MODEL = "embedded", "model"
BACKINGS = (EMBEDDED, MODEL)
# Nodes that a handoff brings in are called so.
_RESERVED = "handoff-"
# Who only looks is started so that it can only propose, where its adapter can do that.
LOOKS_ONLY: frozenset[NodeType] = frozenset({"research", "plan", "plan_patch", "review"})
MOST_NODES = 200
MOST_EDGES = 2000
LONGEST_PROMPT = 65_536
LARGEST = 4 * 1024 * 1024
_LONGEST_TEXT = 500
_MOST_ITEMS = 200
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,199}")


class NodeInputs(Record):
    """The inputs of a node: outputs of earlier nodes, and references for its context pack."""

    uses: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


# How often a step is tried again in a workflow that is made now.
RETRIES = 3


class NodeBudget(Record):
    """The limits of one node; 0 means the workflow's limit.

    `retries` is how often a step is tried again: after an answer of the wrong form, a patch that does not apply, a
    proof or command that fails, an action that was denied with a reason. A file that does not say it means 2.
    """

    seconds: int = 0
    tokens: int = 0
    cents: int = 0
    cu: int = 0
    ctx_kib: int = 0
    retries: int = 2


class WorkflowBudgets(RunBudgets):
    """The limits of the whole workflow and of one batch, and the number of nodes that may run in parallel."""

    max_batch_cu: int = 40
    max_batch_steps: int = 8
    max_batch_risk: int = 6
    max_ctx_kib: int = 160
    parallel: int = 2


class WorkflowNode(Record):
    """One node: its type, specialist and adapter; without an adapter the project's default is used."""

    id: str
    type: NodeType
    specialist: Specialist
    adapter: str = ""
    role: str = ""
    model: str = ""
    way: Way = "contained"
    prompt: str = ""
    argv: tuple[str, ...] = ()
    inputs: NodeInputs = field(default_factory=NodeInputs)
    outputs: tuple[str, ...] = ()
    budget: NodeBudget = field(default_factory=NodeBudget)


class WorkflowDefinition(Record):
    """A workflow. In each pair of `edges` the second node waits for the first; `mode` is set when a run begins."""

    version: int = VERSION
    name: str
    prompt: str = ""
    nodes: tuple[WorkflowNode, ...]
    edges: tuple[tuple[str, ...], ...] = ()
    budgets: WorkflowBudgets = field(default_factory=WorkflowBudgets)
    stop: tuple[StopOn, ...] = ("failed", "blocked", "denied", "budget")
    mode: Mode = "default"


def make_node(id_: str, type_: NodeType, *, adapter: str = "", **given: Any) -> WorkflowNode:
    """Return a node with the defaults of its type: specialist, outputs, and the least rights it needs."""
    only_looks = type_ in LOOKS_ONLY and (not adapter or "proposer" in _ways_of_adapter(adapter))
    told = {
        "way": "proposer" if only_looks else "contained",
        "outputs": OUTPUTS[type_],
        "budget": NodeBudget(retries=RETRIES),
        **given,
    }
    return WorkflowNode(id=id_, type=type_, specialist=SPECIALISTS[type_], adapter=adapter, **told)


def workflow_hash(definition: WorkflowDefinition) -> str:
    """Return the hash of the canonical JSON: the same for equal definitions only."""
    return definition_hash(definition.plain())


def parse_workflow(value: Any, where: str) -> WorkflowDefinition:
    """Return the validated workflow in a JSON value of version 2. Raises: Invalid, naming the error."""
    return check_workflow(WorkflowDefinition.from_value(value, where), where)


def parse_workflow_file(raw: bytes, where: str) -> tuple[WorkflowDefinition, str]:
    """Return the workflow in a file, and the hash that a run of it carries. Raises: Invalid.

    A file of version 1, the definition of a run, is converted to a workflow and keeps its own hash.
    """
    if len(raw) > LARGEST:
        raise Invalid(f"{where} is larger than {LARGEST // 1024} KiB")
    try:
        value = parse_json(raw)
    except Invalid as exc:
        raise Invalid(f"{where} is {exc.message}") from exc
    # Whoever keeps the hash in the file is held to it: then a slip of the hand is found here and not at the start.
    written = value.pop("definition_hash", None) if isinstance(value, dict) else None
    if isinstance(value, dict) and value.get("version") == RUN_VERSION and type(value["version"]) is int:
        run = RunDefinition.from_value(value, where)
        definition, found = check_workflow(workflow_from_run(run), where), definition_hash(run.plain())
    else:
        definition = parse_workflow(value, where)
        found = workflow_hash(definition)
    if written is not None and written != found:
        raise Invalid(
            f"{where}: definition_hash is not that of this definition", hint=f"take it out; it would be {found}"
        )
    return definition, found


def render_workflow(definition: WorkflowDefinition) -> str:
    """Return the file in the form that people edit. Its hash is that of the canonical form."""
    return json.dumps(definition.plain(), indent=2, ensure_ascii=False) + "\n"


def workflow_from_run(run: RunDefinition) -> WorkflowDefinition:
    """Convert the definition of a run to a workflow; every field keeps its meaning."""
    nodes = tuple(
        WorkflowNode(
            id=one.id,
            type="command" if one.adapter == "command" else "exec",
            specialist="executor",
            adapter=one.adapter,
            role=one.role,
            model=one.model,
            way=one.way,
            prompt=one.prompt,
            argv=one.argv,
        )
        for one in run.nodes
    )
    budgets = WorkflowBudgets(**vars(run.budgets))
    return WorkflowDefinition(name=run.name, nodes=nodes, edges=run.edges, budgets=budgets, mode=run.mode)


def run_from_workflow(workflow: WorkflowDefinition) -> RunDefinition:
    """Convert a workflow to the definition of a run: nodes with their adapters, limits and mode."""
    nodes = tuple(
        RunNode(
            id=one.id,
            adapter="command" if one.type == "command" else one.adapter or EMBEDDED,
            role=one.role,
            prompt=one.prompt or workflow.prompt,
            argv=one.argv,
            way=one.way,
            model=one.model,
        )
        for one in workflow.nodes
    )
    plain = {name: getattr(workflow.budgets, name) for name in vars(RunBudgets())}
    return RunDefinition(
        name=workflow.name, nodes=nodes, edges=workflow.edges, budgets=RunBudgets(**plain), mode=workflow.mode
    )


def check_workflow(definition: WorkflowDefinition, where: str) -> WorkflowDefinition:
    """Return the definition if it can be carried out. Raises: Invalid, naming the node."""
    if definition.version != VERSION:
        raise Invalid(f"{where}: version should be {VERSION}", hint="this file is of another git nexus")
    if not definition.nodes:
        raise Invalid(f"{where}: there is no node", hint="a workflow has at least one")
    if len(definition.nodes) > MOST_NODES or len(definition.edges) > MOST_EDGES:
        raise Invalid(f"{where}: more than {MOST_NODES} nodes or {MOST_EDGES} edges", hint="make two workflows of it")
    if not 0 < len(definition.name) <= 100:
        raise Invalid(f"{where}: name should have 1 to 100 characters")
    _check_text(definition.prompt, LONGEST_PROMPT, f"{where}: prompt")
    _check_numbers(definition.budgets, f"{where}: budgets")
    if definition.budgets.parallel < 1:
        raise Invalid(f"{where}: budgets: parallel should be at least 1")
    for one in definition.nodes:
        _check_node(one, f"{where}: node {one.id[:40]}")
    used = {one.id: one.inputs.uses for one in definition.nodes}
    check_graph([one.id for one in definition.nodes], definition.edges, used, where)
    return definition


def _check_node(one: WorkflowNode, where: str) -> None:
    if not _ID.fullmatch(one.id):
        raise Invalid(
            f"{where}: {one.id[:40]!r} cannot be the id of a node",
            hint="a letter, then letters, digits, - and _; at most 40",
        )
    if one.id.startswith(_RESERVED):
        raise Invalid(f"{where}: ids that begin with {_RESERVED} are given to what a handoff brings in")
    _check_backing(one, where)
    for word in (one.role, one.model):
        if word and not _WORD.fullmatch(word):
            raise Invalid(f"{where}: {word[:40]!r} is not the name of a role or model")
    _check_text(one.prompt, LONGEST_PROMPT, f"{where}: prompt")
    _check_texts(one.inputs.refs, f"{where}: inputs: refs")
    _check_texts(one.argv, f"{where}: argv", longest=LONGEST_PROMPT)
    for name in one.outputs:
        if not _NAME.fullmatch(name) or ".." in name:
            raise Invalid(f"{where}: {name[:40]!r} cannot be the name of an output", hint="as in plan.json")
    if len(set(one.outputs)) != len(one.outputs):
        raise Invalid(f"{where}: an output occurs twice")
    _check_numbers(one.budget, f"{where}: budget")


def _check_backing(one: WorkflowNode, where: str) -> None:
    if one.adapter and one.adapter not in (*BACKINGS, *ADAPTERS):
        there = ", ".join((*BACKINGS, *ADAPTERS))
        raise Invalid(f"{where}: there is no agent {one.adapter[:40]!r}", hint=f"there are: {there}")
    if one.adapter and one.way not in _ways_of_adapter(one.adapter):
        raise Invalid(
            f"{where}: {one.adapter} cannot work as {one.way}", hint=f"as {' or '.join(_ways_of_adapter(one.adapter))}"
        )
    if (one.type == "command") != (one.adapter == "command") and one.adapter:
        raise Invalid(f"{where}: a node of type {one.type} cannot be backed by {one.adapter}")
    if one.type == "command" and not (one.argv and one.argv[0]):
        raise Invalid(f"{where}: it says no command", hint='write argv, as ["make", "test"]')
    if one.argv and one.type != "command" and one.adapter != "scripted":
        raise Invalid(f"{where}: argv is for commands", hint="make its type command, or say it in the prompt")


def _check_numbers(budget: Record, where: str) -> None:
    for name, value in budget.plain().items():
        if not 0 <= value <= 10**9:
            raise Invalid(f"{where}: {name} should be between 0 and 1,000,000,000")


def _check_texts(texts: tuple[str, ...], where: str, longest: int = _LONGEST_TEXT) -> None:
    if len(texts) > _MOST_ITEMS:
        raise Invalid(f"{where}: more than {_MOST_ITEMS}")
    for text in texts:
        _check_text(text, longest, where)


def _check_text(text: str, longest: int, where: str) -> None:
    if len(text) > longest:
        raise Invalid(f"{where}: longer than {longest} characters")
    if "\0" in text or any("\ud800" <= ch <= "\udfff" for ch in text):
        raise Invalid(f"{where}: it holds a NUL or half a character")


def _ways_of_adapter(adapter: str) -> tuple[Way, ...]:
    return ADAPTERS[adapter].ways if adapter in ADAPTERS else ("contained", "proposer")
