"""Starts a run of a workflow, and reads its progress from its events."""

from gitnexus.base.errors import DeniedByPolicy
from gitnexus.base.text import one_line
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.policy.model import Mode
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.preflight import require_startable_agents
from gitnexus.runs.start import RunRequest, start_run
from gitnexus.runs.workflow.agents import choose_agents
from gitnexus.runs.workflow.backend_state import describe_backend
from gitnexus.runs.workflow.backends import refuse_missing_model
from gitnexus.runs.workflow.routing import workflow_settings
from gitnexus.state import State
from gitnexus.workflow.definition import (
    SPECIALISTS,
    Specialist,
    WorkflowDefinition,
    WorkflowNode,
    check_workflow,
    make_node,
    run_from_workflow,
)
from gitnexus.workflow.run_definition import EMBEDDED, MODEL
from gitnexus.workflow.settings import WorkflowSettings
from gitnexus.workflow.specialist import FUNCTIONS


def start_workflow(
    state: State,
    definition: WorkflowDefinition,
    title: str = "",
    *,
    base: str = "HEAD",
    mode: Mode | None = None,
    task: str = "",
) -> OpenRun:
    """Start a run of a workflow; `drive_run` continues it. Raises: NexusError, before anything is created."""
    definition = check_workflow(_with_backends(state, definition), "the workflow")
    _refuse_editing_agents(state, definition)
    require_startable_agents(state, run_from_workflow(definition))
    refuse_missing_model(state, [one.type for one in definition.nodes if one.adapter == MODEL])
    return start_run(state, workflow_request(definition, title, base=base, mode=mode, task=task))


def workflow_request(
    definition: WorkflowDefinition, title: str = "", *, base: str = "HEAD", mode: Mode | None = None, task: str = ""
) -> RunRequest:
    """Return the run request for a workflow."""
    # Of a prompt with a patch, use the first line.
    first = next((line for line in definition.prompt.split("\n") if line.strip()), definition.name)
    return RunRequest(definition, one_line(title or first.strip(), 200), base, mode, task)


def _with_backends(state: State, definition: WorkflowDefinition) -> WorkflowDefinition:
    """Return the workflow with configured backends for nodes that name none. Raises: Invalid."""
    settings = workflow_settings(state)
    backed = settings.specialist_adapters()

    def named(one: WorkflowNode) -> WorkflowNode:
        agent = "" if one.adapter or one.type == "command" else backed.get(one.specialist, "")
        return one.changed(adapter=agent, way=make_node(one.id, one.type, adapter=agent).way) if agent else one

    made = choose_agents(state, definition.changed(nodes=tuple(map(named, definition.nodes))), settings)[0]
    return made.changed(handoffs=_who_takes_handoffs(state, made, settings))


def _who_takes_handoffs(
    state: State, definition: WorkflowDefinition, settings: WorkflowSettings
) -> dict[Specialist, str] | None:
    """Return the adapter of each specialist that has no node here and for which one is set; None if there is none.

    Of several the first in the list is taken that can work here; when it is down, the next one takes over.
    """
    there = {one.specialist for one in definition.nodes if one.type != "command"}
    found = dict(definition.handoffs or {})
    for name in dict.fromkeys(SPECIALISTS.values()):
        if name in there or name in found or settings.specialists.get(name, EMBEDDED) == EMBEDDED:
            continue
        agents = [one.agent for one in settings.lists.get(name, ())] or [settings.specialists[name]]
        work = tuple(kind for kind, who in SPECIALISTS.items() if who == name and kind in FUNCTIONS)
        up = [one for one in agents if not describe_backend(state, one, work)[1]] if len(agents) > 1 else agents
        found[name] = (up or agents)[0]
    return found or None


def _refuse_editing_agents(state: State, definition: WorkflowDefinition) -> None:
    """Raise an error for editing agents if the policy only allows proposals. Raises: DeniedByPolicy."""
    if read_policy_in_force(state).compiled.way != "proposer":
        return
    for one in run_from_workflow(definition).nodes:
        if one.adapter in ("command", "aider") and one.way == "contained":
            raise DeniedByPolicy(
                f"the policy has agents work as proposer, and {one.id} ({one.adapter}) cannot",
                hint="give the node to another agent, or to embedded",
            )
