"""Returns a copy of a proposed workflow with a node removed, moved or assigned to another agent. Pure."""

from itertools import pairwise

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode, check_workflow, make_node
from gitnexus.workflow.graph import topological_order
from gitnexus.workflow.run_definition import BACKINGS

_WHERE = "the workflow"


def without_node(definition: WorkflowDefinition, id_: str) -> WorkflowDefinition:
    """Return the workflow without a node; its dependents then wait for its dependencies. Raises: NotFound, Invalid."""
    _require_node(definition, id_)
    if len(definition.nodes) == 1:
        raise Invalid(f"{id_} is the only node", hint="a workflow has at least one")
    above = [first for first, second in definition.edges if second == id_]
    edges = [edge for edge in definition.edges if id_ not in edge]
    for first, second in definition.edges:
        if first == id_:
            edges += [(one, second) for one in above if (one, second) not in edges]
    nodes = tuple(_without_input(one, id_) for one in definition.nodes if one.id != id_)
    return check_workflow(definition.changed(nodes=nodes, edges=tuple(edges)), _WHERE)


def with_node_order(definition: WorkflowDefinition, ids: tuple[str, ...]) -> WorkflowDefinition:
    """Return a chain in another order: each node waits for the one before and gets the outputs of all before it.

    Raises: NotFound, Invalid for a workflow that is not a chain.
    """
    by_id = {one.id: one for one in definition.nodes}
    for id_ in ids:
        _require_node(definition, id_)
    if len(ids) != len(by_id) or set(ids) != set(by_id):
        raise Invalid("name each node once", hint=f"as in {','.join(topological_order(list(by_id), definition.edges))}")
    chain = topological_order(list(by_id), definition.edges)
    if set(definition.edges) != set(pairwise(chain)):
        raise Invalid("only the nodes of a chain can be reordered", hint="edit the workflow as a file instead")
    nodes = []
    for at, id_ in enumerate(ids):
        one = by_id[id_]
        nodes.append(one.changed(inputs=one.inputs.changed(uses=ids[:at])))
    return check_workflow(definition.changed(nodes=tuple(nodes), edges=tuple(pairwise(ids))), _WHERE)


def with_node_moved(definition: WorkflowDefinition, id_: str, ahead_of: str) -> WorkflowDefinition:
    """Return a chain with a node moved before another one. Raises: NotFound, Invalid."""
    _require_node(definition, id_)
    _require_node(definition, ahead_of)
    rest = [one for one in topological_order([one.id for one in definition.nodes], definition.edges) if one != id_]
    if id_ == ahead_of:
        return definition
    at = rest.index(ahead_of)
    return with_node_order(definition, (*rest[:at], id_, *rest[at:]))


def with_node_agent(definition: WorkflowDefinition, id_: str, agent: str) -> WorkflowDefinition:
    """Return the workflow with a node assigned to another agent. Raises: NotFound, Invalid."""
    one = _require_node(definition, id_)
    if one.type == "command":
        raise Invalid(f"{id_} is a command: no specialist can do it")
    if agent not in BACKINGS and (agent not in ADAPTERS or agent == "command"):
        there = ", ".join((*BACKINGS, *(name for name in ADAPTERS if name != "command")))
        raise NotFound(f"there is no agent {agent[:40]!r}", hint=f"there are: {there}")
    made = make_node(one.id, one.type, adapter=agent)
    changed = one.changed(adapter=agent, way=made.way, model="")
    nodes = tuple(changed if each.id == id_ else each for each in definition.nodes)
    return check_workflow(definition.changed(nodes=nodes), _WHERE)


def _without_input(one: WorkflowNode, id_: str) -> WorkflowNode:
    return one.changed(inputs=one.inputs.changed(uses=tuple(name for name in one.inputs.uses if name != id_)))


def _require_node(definition: WorkflowDefinition, id_: str) -> WorkflowNode:
    for one in definition.nodes:
        if one.id == id_:
            return one
    ids = ", ".join(one.id for one in definition.nodes)
    raise NotFound(f"there is no node {id_[:40]!r}", hint=f"there are: {ids}")
