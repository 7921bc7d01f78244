"""Checks a dependency graph, and computes its order and which nodes may run in parallel. Pure."""

import heapq
from collections.abc import Collection, Mapping, Sequence

from gitnexus.base.errors import Invalid

Edges = Sequence[tuple[str, ...]]


def check_graph(ids: Sequence[str], edges: Edges, uses: Mapping[str, Sequence[str]], where: str) -> None:
    """Raise an error for nodes and edges that cannot be carried out. Raises: Invalid, naming the node."""
    known: set[str] = set()
    for id_ in ids:
        if id_ in known:
            raise Invalid(f"{where}: there are two nodes {id_}", hint="give one of them another id")
        known.add(id_)
    seen: set[tuple[str, ...]] = set()
    for edge in edges:
        _check_edge(edge, known, seen, where)
        seen.add(edge)
    stuck = [id_ for id_ in ids if id_ not in set(topological_order(ids, edges))]
    if stuck:
        ring = find_circular_wait(stuck, edges)
        behind = [id_ for id_ in stuck if id_ not in ring]
        words = f"{where}: nodes wait for each other: {' → '.join([*ring, ring[0]])}"
        raise Invalid(
            f"{words}; {', '.join(behind)} {_is_or_are(behind)} never reached" if behind else words,
            hint=f"take one of the edges of {ring[0]} out",
        )
    for id_, used in uses.items():
        _check_uses(id_, used, known, nodes_before(id_, edges), where)


def topological_order(ids: Sequence[str], edges: Edges) -> tuple[str, ...]:
    """Return the ids in dependency order, else as given; ids in a cycle are left out."""
    place = {id_: at for at, id_ in enumerate(ids)}
    waits = dict.fromkeys(ids, 0)
    after: dict[str, list[str]] = {id_: [] for id_ in ids}
    for first, second in set(edges):
        waits[second] += 1
        after[first].append(second)
    free = [place[id_] for id_ in ids if not waits[id_]]
    heapq.heapify(free)
    found = []
    while free:
        id_ = ids[heapq.heappop(free)]
        found.append(id_)
        for later in after[id_]:
            waits[later] -= 1
            if not waits[later]:
                heapq.heappush(free, place[later])
    return tuple(found)


def ready_nodes(
    ids: Sequence[str], edges: Edges, done: Collection[str], running: Collection[str], limit: int
) -> tuple[str, ...]:
    """Return the nodes that may start now, in order, so that at most `limit` run."""
    waiting = {second for first, second in edges if first not in done}
    free = [
        id_ for id_ in topological_order(ids, edges) if id_ not in waiting and id_ not in done and id_ not in running
    ]
    return tuple(free[: max(0, limit - len(running))])


def parallel_waves(ids: Sequence[str], edges: Edges, limit: int) -> tuple[tuple[str, ...], ...]:
    """Return the nodes in groups that may run in parallel, as if all took the same time."""
    done: set[str] = set()
    found = []
    while now := ready_nodes(ids, edges, done, (), limit):
        found.append(now)
        done.update(now)
    return tuple(found)


def nodes_before(id_: str, edges: Edges) -> frozenset[str]:
    """Return all nodes that must be completed before a node."""
    above: dict[str, list[str]] = {}
    for first, second in edges:
        above.setdefault(second, []).append(first)
    found: set[str] = set()
    look = [id_]
    while look:
        new = [one for one in above.get(look.pop(), []) if one not in found]
        found.update(new)
        look += new
    return frozenset(found)


def find_circular_wait(stuck: Sequence[str], edges: Edges) -> list[str]:
    """Return one cycle among nodes that can never start, found by walking back from any of them."""
    from_: dict[str, str] = {}
    for first, second in sorted(edges, reverse=True):
        if first in stuck:
            from_[second] = first
    walked: list[str] = []
    at = stuck[0]
    while at not in walked:
        walked.append(at)
        at = from_[at]
    ring = walked[walked.index(at) :][::-1]
    least = ring.index(min(ring))
    return ring[least:] + ring[:least]


def _check_edge(edge: tuple[str, ...], known: Collection[str], seen: Collection[tuple[str, ...]], where: str) -> None:
    if len(edge) != 2:
        raise Invalid(f"{where}: an edge should be two ids, not {len(edge)}", hint='as in ["look", "plan"]')
    for id_ in edge:
        if id_ not in known:
            raise Invalid(f"{where}: an edge names {id_[:40]!r}, and there is no such node")
    if edge[0] == edge[1]:
        raise Invalid(f"{where}: the node {edge[0]} waits for itself")
    if edge in seen:
        raise Invalid(f"{where}: the edge from {edge[0]} to {edge[1]} occurs twice")


def _check_uses(id_: str, used: Sequence[str], known: Collection[str], earlier: Collection[str], where: str) -> None:
    for other in used:
        if other not in known:
            raise Invalid(f"{where}: node {id_} uses {other[:40]!r}, and there is no such node")
        if other not in earlier:
            raise Invalid(f"{where}: node {id_} uses {other}, but does not wait for it", hint="add an edge")
    if len(set(used)) != len(used):
        raise Invalid(f"{where}: node {id_} uses a node twice")


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
