"""A workflow changed by a person before it starts: a node dropped, moved, or backed by another agent. Pure."""

from itertools import pairwise

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode, checked, node

_WHERE = "the workflow"


def without(definition: WorkflowDefinition, id_: str) -> WorkflowDefinition:
    """Return it without a node; what waited for that waits for what it waited for. Raises: Invalid, NotFound."""
    _at(definition, id_)
    if len(definition.nodes) == 1:
        raise Invalid("this is the only node", hint="drop the workflow instead")
    before = [first for first, second in definition.edges if second == id_]
    after = [second for first, second in definition.edges if first == id_]
    edges = [edge for edge in definition.edges if id_ not in edge]
    edges += [(first, second) for first in before for second in after if (first, second) not in edges]
    nodes = [
        one.changed(inputs=one.inputs.changed(uses=tuple(use for use in one.inputs.uses if use != id_)))
        for one in definition.nodes
        if one.id != id_
    ]
    return checked(definition.changed(nodes=tuple(nodes), edges=tuple(edges)), _WHERE)


def moved(definition: WorkflowDefinition, id_: str, by: int) -> WorkflowDefinition:
    """Return a chain with a node so many places later, or earlier. Raises: Invalid, NotFound."""
    at = _at(definition, id_)
    ids = [one.id for one in definition.nodes]
    if set(definition.edges) != set(pairwise(ids)):
        raise Invalid("only the nodes of a chain can be moved", hint="git nexus route --edit changes any workflow")
    to = min(max(0, at + by), len(ids) - 1)
    nodes = list(definition.nodes)
    nodes.insert(to, nodes.pop(at))
    # A chain in which each knew all before it stays one; any other keeps what still comes before.
    knows_all = all(one.inputs.uses == tuple(ids[:place]) for place, one in enumerate(definition.nodes))
    made: list[WorkflowNode] = []
    for one in nodes:
        earlier = tuple(other.id for other in made)
        uses = earlier if knows_all else tuple(use for use in one.inputs.uses if use in earlier)
        made.append(one.changed(inputs=one.inputs.changed(uses=uses)))
    edges = tuple((first.id, second.id) for first, second in pairwise(made))
    return checked(definition.changed(nodes=tuple(made), edges=edges), _WHERE)


def backed(definition: WorkflowDefinition, id_: str, adapter: str) -> WorkflowDefinition:
    """Return it with a node done by another agent, by nobody's name as the project says. Raises: Invalid, NotFound."""
    at = _at(definition, id_)
    old = definition.nodes[at]
    if old.type == "command":
        raise Invalid("this node runs a command", hint="drop it, or write another workflow")
    new = node(
        id_, old.type, adapter=adapter, role=old.role, prompt=old.prompt, inputs=old.inputs, outputs=old.outputs,
        budget=old.budget,
    )  # fmt: skip
    nodes = (*definition.nodes[:at], new, *definition.nodes[at + 1 :])
    return checked(definition.changed(nodes=nodes), _WHERE)


def given(definition: WorkflowDefinition, refs: tuple[str, ...]) -> WorkflowDefinition:
    """Return it with references for the pack of every node. Raises: Invalid."""
    nodes = tuple(
        one.changed(inputs=one.inputs.changed(refs=tuple(dict.fromkeys((*one.inputs.refs, *refs)))))
        for one in definition.nodes
    )
    return checked(definition.changed(nodes=nodes), _WHERE)


def _at(definition: WorkflowDefinition, id_: str) -> int:
    for at, one in enumerate(definition.nodes):
        if one.id == id_:
            return at
    raise NotFound(f"there is no node {id_[:40]!r}")
