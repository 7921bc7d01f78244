"""The steps of a run: those of its definition, and one for each handoff that was approved, in the order of the log.

A handoff's step is made of what was approved, the request and the message that it names by its digest: whoever resumes
makes the same one, and nothing has to be kept for it.
"""

from gitnexus.adapters.table import ADAPTERS
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import proposed_request
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.events.fold import step_of
from gitnexus.policy.model import HandoffRequest
from gitnexus.runs.definition import Definition, Node
from gitnexus.state import State

# It is told what to run, not what to do.
_NO_AGENT = "command"


def steps_of(desk: RunDesk, definition: Definition) -> list[Node]:
    """Return all steps that a run has by now. Raises: NexusError."""
    found = list(definition.nodes)
    for name, one in desk.view().actions.items():
        if one.kind == "handoff" and one.status == "executed" and one.ok:
            request = proposed_request(desk, name)
            if isinstance(request, HandoffRequest):
                sender = next((node for node in found if node.id == one.node), found[-1])
                words = desk.artifacts.read(request.message_digest).decode("utf-8", "replace")
                found.append(next_step(sender, step_of(name), request.receiver, words, desk.run.title))
    return found


def next_step(sender: Node, name: str, receiver: str, words: str, title: str) -> Node:
    """Return the step in which a receiver takes over: an agent by its name, or a role that the same agent takes on."""
    is_agent = receiver in ADAPTERS
    adapter = receiver if is_agent else sender.adapter
    said = f"You take over from {sender.role or sender.adapter} in this work: {title}\n\nIt tells you:\n\n{words}"
    return Node(
        id=name,
        adapter=adapter,
        role="" if is_agent else receiver,
        prompt=said,
        # As on the command line: the scripted agent is told its file first.
        argv=tuple(words.split()[:1]) if adapter == "scripted" else (),
        way=sender.way,
        model=sender.model if adapter == sender.adapter else "",
    )


def refuse_nobody(state: State, sender: Node, receiver: str) -> None:
    """Refuse to hand over to whom nobody could start. Raises: NotFound, Invalid."""
    if receiver == _NO_AGENT:
        raise Invalid("a command cannot be handed over to", hint="propose it with propose_command")
    if receiver in ADAPTERS:
        return
    roles = _roles(state)
    if receiver not in roles:
        raise NotFound(
            f"there is no agent and no role {one_line(receiver, 40)!r}",
            hint=f"agents: {', '.join(name for name in ADAPTERS if name != _NO_AGENT)}; roles: {', '.join(roles)}",
        )
    if sender.adapter == _NO_AGENT:
        raise Invalid("a command takes on no role", hint="hand over to an agent by its name")


def refuse_unknown_role(state: State, role: str) -> None:
    """Refuse a role that is none of the project's. Raises: NotFound."""
    roles = _roles(state)
    if role not in roles:
        raise NotFound(f"there is no role {one_line(role, 40)!r}", hint=f"roles: {', '.join(roles)}")


def _roles(state: State) -> list[str]:
    from gitnexus.catalog import open_catalog  # reads YAML: only who names a role pays

    return list(open_catalog(state.snapshot, state.repo.place, state.trusts).catalog.agents)
