"""Order, cycles, the longest chain and the impact: checked against other ways to find the same."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.backlog import graph
from gitnexus.backlog.model import id_sort_key

Edges = dict[str, list[str]]
names = st.integers(0, 7).map(lambda n: f"T{n}")
any_graph = st.dictionaries(names, st.lists(names, max_size=4), max_size=8)
# Each waits only for smaller ones, so there is no cycle.
acyclic = any_graph.map(lambda edges: {node: [to for to in tos if to < node] for node, tos in edges.items()})


def all_chains(edges: Edges) -> list[list[str]]:
    """Return every chain there is, by walking all of them."""
    nodes = set(edges) | {to for tos in edges.values() for to in tos}
    found, pending = [], [[node] for node in nodes]
    while pending:
        chain = pending.pop()
        found.append(chain)
        pending += [[*chain, to] for to in set(edges.get(chain[-1], []))]
    return [chain[::-1] for chain in found]


def reachable(edges: Edges) -> set[tuple[str, str]]:
    """Return every pair of which the first waits for the second, directly or not: by squaring until nothing is new."""
    pairs = {(node, to) for node, tos in edges.items() for to in tos}
    while True:
        more = pairs | {(a, d) for a, b in pairs for c, d in pairs if b == c}
        if more == pairs:
            return pairs
        pairs = more


@given(acyclic)
def test_the_longest_chain_is_one_of_the_longest_of_all_chains(edges: Edges) -> None:
    chain = graph.longest_chain(edges)

    every = all_chains(edges)
    assert chain in every or not every
    assert len(chain) == max(map(len, every), default=0)


@given(acyclic)
def test_chains_and_impacts_are_those_of_counting(edges: Edges) -> None:
    every, pairs = all_chains(edges), reachable(edges)
    nodes = set(graph.all_nodes(edges))

    assert graph.chain_lengths(edges) == {node: max(len(one) for one in every if one[0] == node) for node in nodes}
    assert graph.impact_counts(edges) == {node: sum(to == node for _, to in pairs) for node in nodes}


@given(any_graph)
def test_there_is_an_order_or_a_cycle_is_named(edges: Edges) -> None:
    pairs = reachable(edges)
    ringed = {a for a, b in pairs if a == b}

    found = graph.find_cycles(edges)

    assert {node for ring in found for node in ring} <= ringed
    assert bool(found) == bool(ringed)
    for ring in found:
        assert len(set(ring)) == len(ring)
        assert all(to in edges[node] for node, to in pairwise([*ring, ring[0]]))
    assert {node for knot in graph.cyclic_components(edges) for node in knot} == ringed
    if found:
        with pytest.raises(graph.Cyclic) as refused:
            graph.topological_order(edges)
        assert refused.value.cycle == found[0]
    else:
        order = graph.topological_order(edges)
        assert sorted(order) == sorted(graph.all_nodes(edges))
        assert all(order.index(to) < order.index(node) for node, tos in edges.items() for to in tos)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_longest_chain_of_ten_thousand_tasks_is_exact(seed: int) -> None:
    count, chance = 10_000, random.Random(seed)
    number = list(range(1, count + 1))
    chance.shuffle(number)  # so that the ids say nothing about the order
    below = [[chance.randrange(at) for _ in range(chance.randrange(4))] if at else [] for at in range(count)]
    edges = {f"T{number[at]}": [f"T{number[to]}" for to in below[at]] for at in range(count)}
    keys = list(edges)
    chance.shuffle(keys)

    chain = graph.longest_chain({key: edges[key] for key in keys}, id_sort_key)

    # The places are an order by construction: one pass over them is all that is needed.
    longest = [1] * count
    for at in range(count):
        longest[at] = 1 + max((longest[to] for to in below[at]), default=0)
    assert len(chain) == max(longest)
    assert all(before in edges[after] for before, after in pairwise(chain))


@pytest.mark.slow
def test_a_chain_of_fifty_thousand_needs_no_deep_stack() -> None:
    edges = {f"T{n}": [f"T{n - 1}"] for n in range(2, 50_001)}

    assert len(graph.longest_chain(edges, id_sort_key)) == 50_000
    assert graph.chain_lengths(edges)["T1"] == 50_000
    assert graph.impact_counts(edges)["T1"] == 49_999
    assert graph.shortest_path("T50000", "T1", lambda node: edges.get(node, ())) is not None
    assert graph.find_cycles(edges) == []


@pytest.mark.slow
def test_a_ring_of_fifty_thousand_is_named_and_its_message_stays_short() -> None:
    edges = {f"T{n}": [f"T{n - 1}"] for n in range(2, 50_001)} | {"T1": ["T50000"]}

    with pytest.raises(graph.Cyclic) as refused:
        graph.longest_chain(edges)

    assert len(refused.value.cycle) == 50_000
    assert refused.value.message.startswith("a cycle: T1 → T50000 → T49999 → ")
    assert len(refused.value.message) < 200


def test_of_two_chains_of_one_length_the_first_by_number_is_taken() -> None:
    assert graph.longest_chain({"T10": ["T9"], "T3": ["T2"]}, id_sort_key) == ["T2", "T3"]
