"""Computes the steps of a run: those of its definition, and one for each approved handoff in log order.

A handoff step is derived from the approved request and its message, so resuming computes the same step.
"""

from collections.abc import Sequence

from gitnexus.adapters.table import ADAPTERS, find_adapter
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.events.view_builder import handoff_step_name
from gitnexus.policy.model import HandoffRequest
from gitnexus.runs.actions.propose import read_proposed_request
from gitnexus.runs.open_run import OpenRun
from gitnexus.state import State
from gitnexus.workflow.run_definition import RunDefinition, RunNode

# It receives a command, not a prompt.
_NO_AGENT = "command"
# How often an agent is started again because a person denied its patch and said why.
RETRIES = 3


def steps_of(run: OpenRun, definition: RunDefinition) -> list[RunNode]:
    """Return all present steps of a run. Raises: NexusError."""
    found = list(definition.nodes)
    for name, one in run.view().actions.items():
        if one.kind == "handoff" and one.status == "executed" and one.ok:
            request = read_proposed_request(run, name)
            if isinstance(request, HandoffRequest):
                sender = next((node for node in found if node.id == one.node), found[-1])
                words = run.artifacts.read(request.message_digest).decode("utf-8", "replace")
                found.append(handoff_step(sender, handoff_step_name(name), request.receiver, words, run.record.title))
    return found


def handoff_step(sender: RunNode, name: str, receiver: str, words: str, title: str) -> RunNode:
    """Return the step for a handoff's receiver: a named agent, or a role taken on by the same agent."""
    is_agent = receiver in ADAPTERS
    adapter = receiver if is_agent else sender.adapter
    said = f"You take over from {sender.role or sender.adapter} in this work: {title}\n\nIt tells you:\n\n{words}"
    return RunNode(
        id=name,
        adapter=adapter,
        role="" if is_agent else receiver,
        prompt=said,
        # As on the command line, the scripted agent takes its file as the first word.
        argv=tuple(words.split()[:1]) if adapter == "scripted" else (),
        way=sender.way,
        model=sender.model if adapter == sender.adapter else "",
    )


def denial_to_mend(run: OpenRun, node: RunNode) -> str:
    """Return why a person denied the last patch of an agent's program that has ended: it tries again, knowing that.

    Empty without a reason, without a program that could mend it, and after as many tries as there are.
    """
    view = run.view()
    known = view.nodes.get(node.id)
    patches = [name for name, one in view.actions.items() if one.node == node.id and one.kind == "patch"]
    if run.workflow() is not None or known is None or known.status != "completed" or not patches:
        return ""
    last = view.actions[patches[-1]]
    if last.status != "denied" or not last.why or known.attempts > RETRIES or not find_adapter(node.adapter).program:
        return ""
    ended = 0
    for event in run.events():
        if event.kind == "node.completed" and event.body["node"] == node.id:
            ended = event.seq
        elif event.kind == "permission.denied" and event.body["action"] == patches[-1] and event.seq > ended > 0:
            return f"{patches[-1]} denied: {last.why}"
    return ""


def steps_to_try_again(run: OpenRun) -> list[str]:
    """Return the steps with which a run of one agent failed and that may be tried again; none of a workflow."""
    view = run.view()
    if view.status != "failed" or view.landed or run.record.session or run.workflow() is not None:
        return []
    return [name for name, one in view.nodes.items() if one.status == "failed"]


def is_tried_again(run: OpenRun, node: str) -> bool:
    """Return True for a step that failed and was opened again, and did not begin since."""
    for event in reversed(list(run.events())):
        if event.kind == "run.resumed" and node in event.body.get("again", ()):
            return True
        if event.kind in ("node.started", "node.failed") and event.body["node"] == node:
            return False
    return False


def refuse_unknown_receiver(state: State, sender: str, receiver: str, specialists: Sequence[str] = ()) -> None:
    """Raise an error if the receiver of a handoff cannot be started. Raises: NotFound, Invalid.

    `sender` is the adapter of who hands over; `specialists` are known besides agents and the project's roles.
    """
    if receiver == _NO_AGENT:
        raise Invalid("a command cannot be handed over to", hint="propose it with propose_command")
    if receiver in ADAPTERS or receiver in specialists:
        return
    roles = list(dict.fromkeys((*specialists, *_role_names(state))))
    if receiver not in roles:
        raise NotFound(
            f"there is no agent and no role {one_line(receiver, 40)!r}",
            hint=f"agents: {', '.join(name for name in ADAPTERS if name != _NO_AGENT)}; roles: {', '.join(roles)}",
        )
    if sender == _NO_AGENT:
        raise Invalid("a command takes on no role", hint="hand over to an agent by its name")


def refuse_unknown_role(state: State, role: str) -> None:
    """Raise an error for a role that the project does not define. Raises: NotFound."""
    roles = _role_names(state)
    if role not in roles:
        from difflib import get_close_matches  # only for who mistyped

        close = get_close_matches(role, roles, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise NotFound(f"there is no role {one_line(role, 40)!r}", hint=f"{meant}roles: {', '.join(roles)}")


def _role_names(state: State) -> list[str]:
    from gitnexus.catalog import open_catalog  # imports YAML: only needed if a role is named

    return list(open_catalog(state.snapshot, state.repo.folder, state.trusts).catalog.agents)
