"""Computes order, cycles, the longest chain and the impact of a dependency graph, exactly and without recursion. Pure.

A graph is a mapping from a node to the nodes it depends on, which need not be keys themselves. Nodes are any sortable
texts, so the same functions serve one project's ids and the ids of all projects.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gitnexus.base.errors import Invalid

Edges = Mapping[str, Sequence[str]]


class Cyclic(Invalid):
    """A dependency cycle: each task of `cycle` waits for the next, the last for the first."""

    name = "E_CYCLE"

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = list(cycle)
        shown = self.cycle if len(self.cycle) <= 12 else [*self.cycle[:6], "…", *self.cycle[-5:]]
        super().__init__(
            f"a cycle: {' → '.join([*shown, self.cycle[0]])}",
            hint="drop one of these dependencies",
            context={"cycle": self.cycle},
        )


def all_nodes(edges: Edges) -> list[str]:
    """Return every node, including those that only occur as a dependency."""
    return list(dict.fromkeys([*edges, *(target for targets in edges.values() for target in targets)]))


def reversed_edges(edges: Edges) -> dict[str, list[str]]:
    """Return the reversed graph: each node with the nodes that wait for it."""
    found: dict[str, list[str]] = {node: [] for node in all_nodes(edges)}
    for node, targets in edges.items():
        for target in dict.fromkeys(targets):
            found[target].append(node)
    return found


def topological_order(edges: Edges) -> list[str]:
    """Return all nodes, each after those that it waits for. Raises: Cyclic."""
    waiting = reversed_edges(edges)
    left = {node: len(set(edges.get(node, ()))) for node in waiting}
    done = [node for node, count in left.items() if count == 0]
    for node in done:  # grows while it is walked
        for other in waiting[node]:
            left[other] -= 1
            if left[other] == 0:
                done.append(other)
    if len(done) < len(left):
        raise Cyclic(find_cycles(edges)[0])
    return done


def shortest_path(start: str, goal: str, edges: Callable[[str], Iterable[str]]) -> list[str] | None:
    """Return a shortest path from `start` to `goal`, both included, or None; visits only reachable nodes."""
    before: dict[str, str | None] = {start: None}
    pending = [start]
    for node in pending:
        if node == goal:
            way = [node]
            while (last := before[way[-1]]) is not None:
                way.append(last)
            return way[::-1]
        for target in edges(node):
            if target not in before:
                before[target] = node
                pending.append(target)
    return None


def longest_chain(edges: Edges, key: Callable[[str], Any] = str) -> list[str]:
    """Return the longest chain, each waiting for the one before; on a tie the first by `key`. Raises: Cyclic."""
    length: dict[str, int] = {}
    before: dict[str, str | None] = {}
    for node in topological_order(edges):
        best = min(set(edges.get(node, ())), key=lambda target: (-length[target], key(target)), default=None)
        before[node] = best
        length[node] = 1 + (length[best] if best is not None else 0)
    at = min(length, key=lambda node: (-length[node], key(node)), default=None)
    chain: list[str] = []
    while at is not None:
        chain.append(at)
        at = before[at]
    return chain[::-1]


def chain_lengths(edges: Edges) -> dict[str, int]:
    """Return for each node the length of the longest chain that begins with it. Raises: Cyclic."""
    waiting = reversed_edges(edges)
    length: dict[str, int] = {}
    for node in reversed(topological_order(edges)):
        length[node] = 1 + max((length[other] for other in waiting[node]), default=0)
    return length


def impact_counts(edges: Edges) -> dict[str, int]:
    """Return for each node how many nodes wait for it, directly or indirectly. Raises: Cyclic."""
    order = topological_order(edges)
    place = {node: at for at, node in enumerate(order)}
    waiting = reversed_edges(edges)
    users = {node: len(set(edges.get(node, ()))) for node in order}
    reached: dict[str, int] = {}
    counts: dict[str, int] = {}
    for node in reversed(order):
        mask = 0
        for other in waiting[node]:
            mask |= reached[other] | 1 << place[other]
            users[other] -= 1
            if users[other] == 0:  # nobody asks for it again: a chain of 50,000 needs room for one mask, not for all
                del reached[other]
        counts[node] = mask.bit_count()
        reached[node] = mask
    return counts


def find_cycles(edges: Edges) -> list[list[str]]:
    """Return one cycle of each strongly connected component, beginning with its smallest node; sorted."""
    found = []
    for knot in cyclic_components(edges):
        first = min(knot)
        inside = {node: [target for target in edges.get(node, ()) if target in knot] for node in knot}
        ways = (shortest_path(target, first, inside.__getitem__) for target in inside[first])
        way = min((way for way in ways if way is not None), key=len)
        found.append([first, *way[:-1]])
    return sorted(found)


def cyclic_components(edges: Edges) -> list[set[str]]:
    """Return the strongly connected components that contain a cycle (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[set[str]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found += _pop_component(node, stack, on_stack, edges)
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                work.append((target, iter(edges.get(target, ()))))
            elif target in on_stack:
                low[node] = min(low[node], index[target])
    return found


def _pop_component(node: str, stack: list[str], on_stack: set[str], edges: Edges) -> list[set[str]]:
    knot: set[str] = set()
    while node not in knot:
        knot.add(stack.pop())
    on_stack -= knot
    return [knot] if len(knot) > 1 or node in edges.get(node, ()) else []
