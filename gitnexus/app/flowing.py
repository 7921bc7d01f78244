"""A prompt on its way to a run: the workflow that is proposed for it, as a person changed it, begun and followed.

What a surface needs to talk about workflows: `proposed` (of app/workflow), `begun`, `driven` (of app/running),
`following`, `waiting`, and `answered`, `approve` and `deny` as for every run.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitnexus.app.policy import policy_here
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import Wish, started
from gitnexus.app.runready import refuse_unready
from gitnexus.base.errors import DeniedByPolicy
from gitnexus.base.text import one_line
from gitnexus.events.model import Event
from gitnexus.policy.model import Mode
from gitnexus.state import State
from gitnexus.workflow.definition import WorkflowDefinition, lowered
from gitnexus.workflow.flow import Flow
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
    _refuse_way(state, definition)
    refuse_unready(state, lowered(definition))
    words = one_line(title or definition.prompt or definition.name, 200)
    return started(state, Wish(definition, words, base, mode, task))


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


def can_go_on(desk: RunDesk) -> bool:
    """True if a workflow that nobody drives has something to do that needs no answer first. Raises: NexusError."""
    definition = desk.workflow()
    if definition is None or desk.is_driven():
        return False
    progress = progress_of(desk.log.read())
    if progress.ended:
        return False
    flow = Flow(definition)
    waits = flow.verdict(progress) is None
    active = any(one.status == "started" for one in progress.nodes.values())
    return not waits or bool(flow.startable(progress)) or (active and not waiting(desk))


def _refuse_way(state: State, definition: WorkflowDefinition) -> None:
    """Refuse agents that edit by themselves where the policy lets agents propose only. Raises: DeniedByPolicy."""
    if policy_here(state).law.way != "proposer":
        return
    for node in lowered(definition).nodes:
        if node.adapter in ("command", "aider") and node.way == "contained":
            raise DeniedByPolicy(
                f"the policy has agents work as proposer, and {node.id} ({node.adapter}) cannot",
                hint="give the node to another agent, or to embedded",
            )
