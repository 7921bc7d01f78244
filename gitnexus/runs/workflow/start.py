"""A prompt on its way to a run: the workflow that is proposed for it, as a person changed it, begun and followed.

What a surface needs to talk about workflows: `proposed` (of app/workflow), `begun`, `driven` (of app/running),
`following`, `waiting`, and `answered`, `approve` and `deny` as for every run.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitnexus.app.backing import refuse_no_model
from gitnexus.app.policy import policy_here
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import Wish, started
from gitnexus.app.runready import refuse_unready
from gitnexus.app.workflow import workflow_settings
from gitnexus.base.errors import DeniedByPolicy
from gitnexus.base.text import one_line
from gitnexus.events.model import Event
from gitnexus.policy.model import Mode
from gitnexus.state import State
from gitnexus.workflow.definition import MODEL, WorkflowDefinition, WorkflowNode, checked, lowered, node
from gitnexus.workflow.progress import Progress


class Waiting(NamedTuple):
    """What a workflow waits for: a question or an action by its name, the node that it is about, and the words."""

    name: str
    kind: str
    node: str
    text: str


def begun(
    state: State, definition: WorkflowDefinition, title: str = "", *, base: str = "HEAD", mode: Mode | None = None,
    task: str = "",
) -> RunDesk:  # fmt: skip
    """Begin a run of a workflow; `driven` brings it on. Raises: NexusError, before anything is made."""
    definition = checked(_backed(state, definition), "the workflow")
    _refuse_way(state, definition)
    refuse_unready(state, lowered(definition))
    refuse_no_model(state, [one.type for one in definition.nodes if one.adapter == MODEL])
    return started(state, wish_of(definition, title, base=base, mode=mode, task=task))


def wish_of(
    definition: WorkflowDefinition, title: str = "", *, base: str = "HEAD", mode: Mode | None = None, task: str = ""
) -> Wish:
    """Return the wish for a workflow, wherever it is carried out."""
    # Of a prompt that brings a patch along, the first line says what it is about.
    first = next((line for line in definition.prompt.split("\n") if line.strip()), definition.name)
    return Wish(definition, one_line(title or first.strip(), 200), base, mode, task)


def following(desk: RunDesk, after: int = 0) -> Iterator[Event]:
    """Yield the events of a run that came after one, by its number. Raises: NotFound, VerificationFailed."""
    return (event for event in desk.log.read() if event.seq > after)


def waiting(desk: RunDesk) -> list[Waiting]:
    """Return what a workflow waits for a person to answer, in the order in which it came. Raises: NexusError."""
    progress, view = progress_of(desk.log.read()), desk.view()
    found = [Waiting(name, "question", progress.questions.get(name, ""), text) for name, text in view.questions.items()]
    for name, one in view.actions.items():
        if one.status in ("waiting", "unknown", "proposed"):
            found.append(Waiting(name, one.kind, one.node, one.summary))
    return found


def progress_of(events: Iterable[Event]) -> Progress:
    """Return how far a workflow is, from its events alone."""
    progress = Progress()
    progress.fold(events)
    return progress


def _backed(state: State, definition: WorkflowDefinition) -> WorkflowDefinition:
    """Return the workflow with whom the settings name behind each node that names nobody. Raises: Invalid."""
    backed = workflow_settings(state).backed_by()

    def named(one: WorkflowNode) -> WorkflowNode:
        agent = "" if one.adapter or one.type == "command" else backed.get(one.specialist, "")
        return one.changed(adapter=agent, way=node(one.id, one.type, adapter=agent).way) if agent else one

    return definition.changed(nodes=tuple(map(named, definition.nodes)))


def _refuse_way(state: State, definition: WorkflowDefinition) -> None:
    """Refuse agents that edit by themselves where the policy lets agents propose only. Raises: DeniedByPolicy."""
    if policy_here(state).law.way != "proposer":
        return
    for one in lowered(definition).nodes:
        if one.adapter in ("command", "aider") and one.way == "contained":
            raise DeniedByPolicy(
                f"the policy has agents work as proposer, and {one.id} ({one.adapter}) cannot",
                hint="give the node to another agent, or to embedded",
            )
