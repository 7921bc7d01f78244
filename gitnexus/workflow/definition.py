"""The workflow definition: nodes, dependencies, budgets, and the hash that identifies it; parsing and rendering."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.canonical import parse_json
from gitnexus.base.document import DISTINCT, NO_NUL, Document, Many, has_form
from gitnexus.base.errors import Invalid
from gitnexus.events.model import definition_hash
from gitnexus.policy.model import Mode
from gitnexus.workflow.graph import check_graph
from gitnexus.workflow.run_definition import BACKINGS, EMBEDDED, RunBudgets, RunDefinition, RunNode, Way
from gitnexus.workflow.run_definition import VERSION as RUN_VERSION

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
# Nodes that a handoff brings in are called so.
_RESERVED = "handoff-"
# Who only looks is started so that it can only propose, where its adapter can do that.
LOOKS_ONLY: frozenset[NodeType] = frozenset({"research", "plan", "plan_patch", "review"})
MOST_NODES = 200
MOST_EDGES = 2000
LONGEST_PROMPT = 65_536
LARGEST = 4 * 1024 * 1024
_MOST_ITEMS = 200
# How often a step is tried again in a workflow that is made now.
RETRIES = 3


Amount = Annotated[int, Field(ge=0, le=10**9)]
NodeId = Annotated[str, *has_form(r"[A-Za-z][A-Za-z0-9_-]{0,39}", "a letter, then up to 39 letters, digits, - or _")]
OutputName = Annotated[str, *has_form(r"(?!.*\.\.)[a-z0-9][a-z0-9_.-]{0,63}", "the name of a file, as in plan.json")]
# The name of a role or of a model; empty where none is said.
Name = Annotated[str, *has_form(r"([A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,199})?", "the name of a role or model")]
Prompt = Annotated[str, Field(max_length=LONGEST_PROMPT), NO_NUL]
Reference = Annotated[str, Field(max_length=500), NO_NUL]
HandoffAdapter = Annotated[
    str, Field(json_schema_extra={"enum": [*BACKINGS, *(name for name in ADAPTERS if name != "command")]})
]
Adapter = Annotated[str, Field(json_schema_extra={"enum": ["", *BACKINGS, *ADAPTERS]})]


class NodeInputs(Document):
    """The inputs of a node: outputs of earlier nodes, and references for its context pack."""

    uses: Many[str] = ()
    refs: Annotated[Many[Reference], Field(max_length=_MOST_ITEMS)] = ()


class NodeBudget(Document):
    """The limits of one node; 0 means the workflow's limit.

    `retries` is how often a step is tried again: after an answer of the wrong form, a patch that does not apply, a
    proof or command that fails, an action that was denied with a reason. A file that does not say it means 2.
    """

    seconds: Amount = 0
    tokens: Amount = 0
    cents: Amount = 0
    cu: Amount = 0
    ctx_kib: Amount = 0
    retries: Amount = 2
    # How many files and lines one step may change. None, so that definitions from before keep their hash.
    files: Amount | None = None
    lines: Amount | None = None


class WorkflowBudgets(Document):
    """The limits of the whole workflow, of one batch and of one step, and how many nodes may run in parallel.

    The first four are those of a run (`run_definition.RunBudgets`); 0 is no limit.
    """

    seconds: Amount = 3600
    tokens: Amount = 0
    cents: Amount = 0
    handoffs: Amount = 10
    max_batch_cu: Amount = 40
    max_batch_steps: Amount = 8
    max_batch_risk: Amount = 6
    max_ctx_kib: Amount = 160
    parallel: Annotated[int, Field(ge=1, le=10**9)] = 2
    max_step_files: Amount | None = None
    max_step_lines: Amount | None = None


class WorkflowNode(Document):
    """One node: its type, specialist and adapter; without an adapter the project's default is used."""

    id: NodeId
    type: NodeType
    specialist: Specialist
    adapter: Adapter = ""
    role: Name = ""
    model: Name = ""
    way: Way = "contained"
    prompt: Prompt = ""
    argv: Annotated[Many[Prompt], Field(max_length=_MOST_ITEMS)] = ()
    inputs: NodeInputs = NodeInputs()
    outputs: Annotated[Many[OutputName], *DISTINCT] = ()
    budget: NodeBudget = NodeBudget()


class WorkflowDefinition(Document):
    """A workflow: its nodes, and in `edges` pairs of which the second node waits for the first.

    `mode` is set when a run begins. So is `handoffs`, the adapter that takes a handoff to a specialist of which the
    workflow has no node; it is None where nobody is set, so that definitions from before keep their hash. `git nexus
    workflow check` finds what a schema cannot express, such as nodes that wait for each other.
    """

    version: Annotated[int, Field(json_schema_extra={"const": VERSION})] = VERSION
    name: Annotated[str, Field(min_length=1, max_length=100)]
    prompt: Prompt = ""
    nodes: Annotated[Many[WorkflowNode], Field(min_length=1, max_length=MOST_NODES)]
    edges: Annotated[Many[Annotated[Many[str], Field(min_length=2, max_length=2)]], Field(max_length=MOST_EDGES)] = ()
    budgets: WorkflowBudgets = WorkflowBudgets()
    stop: Many[StopOn] = ("failed", "blocked", "denied", "budget")
    mode: Mode = "default"
    handoffs: dict[Specialist, HandoffAdapter] | None = None


def make_node(id_: str, type_: NodeType, *, adapter: str = "", **given: Any) -> WorkflowNode:
    """Return a node with the defaults of its type: specialist, outputs, the least rights. Raises: Invalid."""
    only_looks = type_ in LOOKS_ONLY and (not adapter or "proposer" in _ways_of_adapter(adapter))
    told = {
        "way": "proposer" if only_looks else "contained",
        "outputs": OUTPUTS[type_],
        "budget": NodeBudget(retries=RETRIES),
        **given,
    }
    fields = {"id": id_, "type": type_, "specialist": SPECIALISTS[type_], "adapter": adapter, **told}
    return WorkflowNode.from_fields(f"node {id_[:40]}", **fields)


def workflow_hash(definition: WorkflowDefinition) -> str:
    """Return the hash of the canonical JSON: the same for equal definitions only."""
    return definition_hash(definition.plain())


def parse_workflow(value: Any, where: str) -> WorkflowDefinition:
    """Return the workflow in a JSON value of version 2 if it can be carried out. Raises: Invalid, naming the error."""
    definition = WorkflowDefinition.from_value(value, where)
    if definition.version != VERSION:
        raise Invalid(f"{where}: version should be {VERSION}", hint="this file is of another git nexus")
    for one in definition.nodes:
        _check_node(one, f"{where}: node {one.id}")
    for name, adapter in (definition.handoffs or {}).items():
        if adapter == "command" or adapter not in (*BACKINGS, *ADAPTERS):
            raise Invalid(f"{where}: handoffs: {name}: {adapter[:40]!r} cannot take a handoff")
    used = {one.id: one.inputs.uses for one in definition.nodes}
    check_graph([one.id for one in definition.nodes], definition.edges, used, where)
    return definition


def check_workflow(definition: WorkflowDefinition, where: str) -> WorkflowDefinition:
    """Return the definition if it can be carried out, however it was made. Raises: Invalid, naming the error."""
    return parse_workflow(definition.plain(), where)


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
    # If the file has a hash, it must match: so a mistake is found here and not when the run starts.
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
        WorkflowNode.from_fields(
            f"node {one.id[:40]}",
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
    budgets = WorkflowBudgets.from_fields("budgets", **vars(run.budgets))
    return WorkflowDefinition.from_fields(
        "the workflow", name=run.name, nodes=nodes, edges=run.edges, budgets=budgets, mode=run.mode
    )


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


def _check_node(one: WorkflowNode, where: str) -> None:
    if one.id.startswith(_RESERVED):
        raise Invalid(f"{where}: ids that begin with {_RESERVED} are given to what a handoff brings in")
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


def _ways_of_adapter(adapter: str) -> tuple[Way, ...]:
    return ADAPTERS[adapter].ways if adapter in ADAPTERS else ("contained", "proposer")
