"""Pictures of the graph: the whole output."""

from gitnexus.projects.graph_render import GraphNode, make_picture, render_dot, render_mermaid, render_tree

NODES = {
    "a:T10": GraphNode("a:T10", "api:T10", "api", 'Say "hi" \\ now', "pending"),
    "a:T2": GraphNode("a:T2", "api:T2", "api", "Database", "done"),
    "a:T3": GraphNode("a:T3", "api:T3", "api", "Alone", "pending"),
    "b:T5": GraphNode("b:T5", "lib:T5", "lib", "Größe <b>[x]</b>\x1b[2J", "active", external=True),
}
PICTURE = make_picture("api", NODES, [("a:T10", "b:T5"), ("a:T10", "a:T2"), ("a:T10", "a:T2")])


def test_dot_is_sorted_escaped_and_dashed_where_it_leaves_the_project() -> None:
    assert render_dot(PICTURE) == (
        'digraph "nexus_api" {\n'
        "    rankdir=LR;\n"
        '    "a:T2" [label="T2: Database" project="api"];\n'
        '    "a:T3" [label="T3: Alone" project="api"];\n'
        '    "a:T10" [label="T10: Say \\"hi\\" \\\\ now" project="api"];\n'
        '    "b:T5" [label="T5: Größe <b>[x]</b>\\\\x1b[2J" project="lib" style=dashed];\n'
        '    "a:T10" -> "a:T2";\n'
        '    "a:T10" -> "b:T5" [style=dashed];\n'
        "}"
    )


def test_mermaid_spells_out_what_it_would_read_as_its_own() -> None:
    assert render_mermaid(PICTURE) == (
        "graph LR\n"
        '    n0["api:T2: Database"]\n'
        '    n1["api:T3: Alone"]\n'
        '    n2["api:T10: Say #34;hi#34; #92; now"]\n'
        '    n3["lib:T5: Größe #60;b#62;#91;x#93;#60;/b#62;#92;x1b#91;2J"]\n'
        "    n2 --> n0\n"
        "    n2 -.-> n3\n"
        "    classDef external stroke-dasharray: 4\n"
        "    class n3 external"
    )


def test_json_tells_inside_from_outside() -> None:
    told = PICTURE.plain()

    assert [node["ref"] for node in told["nodes"]] == ["api:T2", "api:T3", "api:T10"]
    assert [node["ref"] for node in told["external"]] == ["lib:T5"]
    assert told["edges"] == [
        {"from": "a:T10", "to": "a:T2", "external": False},
        {"from": "a:T10", "to": "b:T5", "external": True},
    ]


def test_a_tree_shows_what_waits_for_what() -> None:
    assert render_tree(PICTURE, 50) == (
        '· T10  Say "hi" \\ now\n├─ ✓ T2  Database\n└─ ▸ lib:T5  Größe <b>[x]</b>\\x1b[2J\n1 task without dependencies'
    )


def test_a_circle_ends_and_is_called_one() -> None:
    nodes = {f"a:T{n}": GraphNode(f"a:T{n}", f"api:T{n}", "api", f"t{n}", "pending") for n in (1, 2)}
    circle = make_picture("api", nodes, [("a:T1", "a:T2"), ("a:T2", "a:T1")], [["a:T1", "a:T2"]])

    assert render_tree(circle, 50) == "· T1  t1\n└─ · T2  t2\n   └─ · T1  t1 (circle)"


def test_a_tree_of_several_projects_says_whose_each_task_is() -> None:
    nodes = {
        "a:T1": GraphNode("a:T1", "api:T1", "api", "one", "pending"),
        "b:T1": GraphNode("b:T1", "lib:T1", "lib", "two", "done"),
    }

    assert render_tree(make_picture("all", nodes, [("a:T1", "b:T1")]), 50) == "· api:T1  one\n└─ ✓ lib:T1  two"


def test_a_long_tree_says_that_there_is_more() -> None:
    nodes = {f"a:T{n}": GraphNode(f"a:T{n}", f"api:T{n}", "api", f"t{n}", "pending") for n in range(1, 60)}
    chain = make_picture("api", nodes, [(f"a:T{n}", f"a:T{n + 1}") for n in range(1, 59)])

    assert len(render_tree(chain, 10).splitlines()) == 11
