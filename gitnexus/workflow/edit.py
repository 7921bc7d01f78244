"""A workflow changed by a person before it starts: a node dropped, moved, or given to somebody else. Pure."""

from itertools import pairwise

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.workflow.definition import BACKINGS, WorkflowDefinition, WorkflowNode, checked, node
from gitnexus.workflow.graph import order

_WHERE = "the workflow"


def dropped(definition: WorkflowDefinition, id_: str) -> WorkflowDefinition:
    """Return the workflow without a node; who waited for it waits for what it waited for. Raises: NotFound, Invalid."""
    _known(definition, id_)
    if len(definition.nodes) == 1:
        raise Invalid(f"{id_} is the only node", hint="a workflow has at least one")
    above = [first for first, second in definition.edges if second == id_]
    edges = [edge for edge in definition.edges if id_ not in edge]
    for first, second in definition.edges:
        if first == id_:
            edges += [(one, second) for one in above if (one, second) not in edges]
    nodes = tuple(_without(one, id_) for one in definition.nodes if one.id != id_)
    return checked(definition.changed(nodes=nodes, edges=tuple(edges)), _WHERE)


def reordered(definition: WorkflowDefinition, ids: tuple[str, ...]) -> WorkflowDefinition:
    """Return a chain in another order: each node waits for the one before and is given what all before it gave.

    Raises: NotFound, Invalid for a workflow that is no chain.
    """
    by_id = {one.id: one for one in definition.nodes}
    for id_ in ids:
        _known(definition, id_)
    if len(ids) != len(by_id) or set(ids) != set(by_id):
        raise Invalid("name each node once", hint=f"as in {','.join(order(list(by_id), definition.edges))}")
    chain = order(list(by_id), definition.edges)
    if set(definition.edges) != set(pairwise(chain)):
        raise Invalid("only a chain can be put in another order", hint="edit the workflow as a file instead")
    nodes = []
    for at, id_ in enumerate(ids):
        one = by_id[id_]
        nodes.append(one.changed(inputs=one.inputs.changed(uses=ids[:at])))
    return checked(definition.changed(nodes=tuple(nodes), edges=tuple(pairwise(ids))), _WHERE)


def moved(definition: WorkflowDefinition, id_: str, ahead_of: str) -> WorkflowDefinition:
    """Return a chain with a node put ahead of another one. Raises: NotFound, Invalid."""
    _known(definition, id_)
    _known(definition, ahead_of)
    rest = [one for one in order([one.id for one in definition.nodes], definition.edges) if one != id_]
    if id_ == ahead_of:
        return definition
    at = rest.index(ahead_of)
    return reordered(definition, (*rest[:at], id_, *rest[at:]))


def given_to(definition: WorkflowDefinition, id_: str, agent: str) -> WorkflowDefinition:
    """Return the workflow with another one to do a node's work. Raises: NotFound, Invalid."""
    one = _known(definition, id_)
    if one.type == "command":
        raise Invalid(f"{id_} is a command: nobody else can do it")
    if agent not in BACKINGS and (agent not in ADAPTERS or agent == "command"):
        there = ", ".join((*BACKINGS, *(name for name in ADAPTERS if name != "command")))
        raise NotFound(f"there is no agent {agent[:40]!r}", hint=f"there are: {there}")
    made = node(one.id, one.type, adapter=agent)
    changed = one.changed(adapter=agent, way=made.way, model="")
    nodes = tuple(changed if each.id == id_ else each for each in definition.nodes)
    return checked(definition.changed(nodes=nodes), _WHERE)


def _without(one: WorkflowNode, id_: str) -> WorkflowNode:
    return one.changed(inputs=one.inputs.changed(uses=tuple(name for name in one.inputs.uses if name != id_)))


def _known(definition: WorkflowDefinition, id_: str) -> WorkflowNode:
    for one in definition.nodes:
        if one.id == id_:
            return one
    ids = ", ".join(one.id for one in definition.nodes)
    raise NotFound(f"there is no node {id_[:40]!r}", hint=f"there are: {ids}")
