"""Who waits for whom: the order, and what may be done side by side."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.workflow.graph import find_circular_wait, nodes_before, parallel_waves, ready_nodes, topological_order

Graph = tuple[list[str], list[tuple[str, str]]]


@st.composite
def dags(draw: st.DrawFn) -> Graph:
    ids = [f"n{at}" for at in range(draw(st.integers(1, 8)))]
    pairs = [(one, other) for at, one in enumerate(ids) for other in ids[at + 1 :]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return draw(st.permutations(ids)), edges


def placed(found: Sequence[str]) -> dict[str, int]:
    return {id_: at for at, id_ in enumerate(found)}


@given(dags(), st.data())
def test_the_order_holds_every_node_once_keeps_every_edge_and_is_always_the_same(
    graph: Graph, data: st.DataObject
) -> None:
    ids, edges = graph
    found = topological_order(ids, edges)
    at = placed(found)

    assert sorted(found) == sorted(ids)
    assert all(at[first] < at[second] for first, second in edges)
    assert topological_order(ids, data.draw(st.permutations(edges))) == found


@given(dags())
def test_of_two_nodes_that_could_both_be_next_the_one_that_stands_first_is(graph: Graph) -> None:
    ids, edges = graph
    done: list[str] = []
    for id_ in topological_order(ids, edges):
        free = [one for one in ids if one not in done and nodes_before(one, edges) <= set(done)]
        assert id_ == free[0]
        done.append(id_)


@given(dags(), st.integers(1, 3), st.randoms())
def test_never_more_than_the_limit_run_none_before_its_time_and_all_get_their_turn(
    graph: Graph, limit: int, chance
) -> None:  # type: ignore[no-untyped-def]
    ids, edges = graph
    done: set[str] = set()
    running: list[str] = []
    while len(done) < len(ids):
        new = ready_nodes(ids, edges, done, running, limit)
        assert all(nodes_before(id_, edges) <= done for id_ in new)
        assert not set(new) & (done | set(running))
        running += new
        assert 0 < len(running) <= limit
        ended = chance.choice(running)
        running.remove(ended)
        done.add(ended)

    assert ready_nodes(ids, edges, done, (), limit) == ()


@given(dags(), st.integers(1, 4))
def test_groups_side_by_side_hold_all_nodes_and_wait_for_the_groups_before(graph: Graph, limit: int) -> None:
    ids, edges = graph
    found = parallel_waves(ids, edges, limit)

    assert sorted(id_ for group in found for id_ in group) == sorted(ids)
    assert all(len(group) <= limit for group in found)
    at = {id_: number for number, group in enumerate(found) for id_ in group}
    assert all(at[first] < at[second] for first, second in edges)


def test_two_that_need_only_the_first_run_side_by_side() -> None:
    ids = ["a", "b", "c", "d"]
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]

    assert parallel_waves(ids, edges, 2) == (("a",), ("b", "c"), ("d",))
    assert parallel_waves(ids, edges, 1) == (("a",), ("b",), ("c",), ("d",))


@given(dags(), st.data())
def test_a_circle_is_found_and_is_one(graph: Graph, data: st.DataObject) -> None:
    ids, edges = graph
    if not edges:
        return
    first, second = data.draw(st.sampled_from(edges))
    round_ = [*edges, (second, first)]
    stuck = [id_ for id_ in ids if id_ not in topological_order(ids, round_)]

    ring = find_circular_wait(stuck, round_)

    assert all(pair in round_ for pair in zip(ring, [*ring[1:], ring[0]], strict=True))
