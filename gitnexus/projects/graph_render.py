"""Renders a dependency graph as DOT, Mermaid, JSON or a text tree; sorted, escaped and deterministic."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitnexus.backlog.model import number_of_id
from gitnexus.base.text import one_line

_WIDTH = 32  # of a line on a node, in characters
_MARKS = {"done": "✓", "cancelled": "✗", "active": "▸", "blocked": "■", "pending": "·"}


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A task in a picture; `external` if it belongs to a project other than the one drawn."""

    key: str
    ref: str
    project: str
    title: str
    status: str
    external: bool = False

    @property
    def id(self) -> str:
        return self.key.partition(":")[2]


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """Nodes, and edges from a task to the task that it waits for; both sorted."""

    name: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[str, str], ...]
    cycles: tuple[tuple[str, ...], ...] = ()

    @property
    def spans(self) -> bool:
        """Return True if it shows several projects equally, so that an id alone is ambiguous."""
        return len({node.project for node in self.nodes if not node.external}) > 1

    def plain(self) -> dict[str, Any]:
        """Return the picture as JSON."""
        told = {
            node.key: {
                "id": node.key,
                "ref": node.ref,
                "project": node.project,
                "title": node.title,
                "status": node.status,
            }
            for node in self.nodes
        }
        outside = {node.key for node in self.nodes if node.external}
        return {
            "nodes": [told[node.key] for node in self.nodes if not node.external],
            "external": [told[node.key] for node in self.nodes if node.external],
            "edges": [{"from": a, "to": b, "external": a in outside or b in outside} for a, b in self.edges],
            "cycles": [list(cycle) for cycle in self.cycles],
        }


def render_dot(picture: GraphPicture) -> str:
    """Return the picture in the DOT language of Graphviz."""
    outside = {node.key for node in picture.nodes if node.external}
    lines = [f"digraph {_quote_dot('nexus_' + picture.name)} {{", "    rankdir=LR;"]
    for node in picture.nodes:
        style = " style=dashed" if node.external else ""
        # Where several projects are drawn, an id alone says nothing and there is much to look at.
        label = _lines(node) if picture.spans else [f"{node.id}: {node.title}"]
        more = f" status={_quote_dot(node.status)}" if picture.spans else ""
        words = r"\n".join(_quote_dot(line)[1:-1] for line in label)
        lines.append(f'    {_quote_dot(node.key)} [label="{words}" project={_quote_dot(node.project)}{more}{style}];')
    for a, b in picture.edges:
        style = " [style=dashed]" if a in outside or b in outside else ""
        lines.append(f"    {_quote_dot(a)} -> {_quote_dot(b)}{style};")
    return "\n".join([*lines, "}"])


def render_mermaid(picture: GraphPicture) -> str:
    """Return the picture as a Mermaid flowchart."""
    names = {node.key: f"n{at}" for at, node in enumerate(picture.nodes)}
    outside = {node.key for node in picture.nodes if node.external}
    lines = ["graph LR"]
    for node in picture.nodes:
        label = _lines(node) if picture.spans else [f"{node.ref}: {node.title}"]
        lines.append(f'    {names[node.key]}["{"<br/>".join(map(_escape_mermaid, label))}"]')
    lines += [
        f"    {names[a]} {'-.->' if a in outside or b in outside else '-->'} {names[b]}" for a, b in picture.edges
    ]
    if outside:
        lines.append("    classDef external stroke-dasharray: 4")
        lines.append(f"    class {','.join(names[key] for key in names if key in outside)} external")
    return "\n".join(lines)


def render_tree(picture: GraphPicture, most: int) -> str:
    """Return the picture as a text tree: tasks that nothing waits for at the left, their dependencies below them."""
    nodes = {node.key: node for node in picture.nodes}
    below: dict[str, list[str]] = {}
    waited: set[str] = set()
    for a, b in picture.edges:
        below.setdefault(a, []).append(b)
        waited.add(b)
    roots = [key for key in nodes if key not in waited and key in below]
    # What is only in a circle has no beginning; it begins where it is first met.
    roots += [key for cycle in picture.cycles for key in cycle[:1] if key in nodes]
    alone = sum(key not in waited and key not in below for key in nodes)
    lines: list[str] = []
    shown: set[str] = set()
    pending = [(key, "", "", frozenset[str]()) for key in reversed(roots)]
    while pending and len(lines) < most:
        key, lead, rest, above = pending.pop()
        again = key in shown
        line = _node_line(nodes[key], whole=picture.spans)
        lines.append(f"{lead}{line}{' (circle)' if key in above else ' (above)' if again else ''}")
        shown.add(key)
        if again:
            continue
        inside = below.get(key, [])
        for at, other in reversed(list(enumerate(inside))):
            last = at == len(inside) - 1
            pending.append(
                (other, f"{rest}{'└─ ' if last else '├─ '}", f"{rest}{'   ' if last else '│  '}", above | {key})
            )
    if pending:
        lines.append("… more: --format dot, json or mermaid shows everything")
    if alone:
        lines.append(f"{alone} {'task' if alone == 1 else 'tasks'} without dependencies")
    return "\n".join(lines)


def _node_line(node: GraphNode, *, whole: bool) -> str:
    name = node.ref if whole or node.external else node.id
    return f"{_MARKS.get(node.status, '·')} {name}  {one_line(node.title, 60)}"


def _lines(node: GraphNode) -> list[str]:
    """Return the lines of a node's label among several projects: project and status, then the wrapped title."""
    return [f"{node.ref} - {node.status}", *textwrap.wrap(one_line(node.title, 200), _WIDTH)]


def _quote_dot(text: str) -> str:
    escaped = one_line(text, 400).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escape_mermaid(text: str) -> str:
    clean = one_line(text, 200)
    return "".join(ch if ch.isalnum() or ch in " :._-,/" else f"#{ord(ch)};" for ch in clean)


def make_picture(
    name: str,
    nodes: Mapping[str, GraphNode],
    edges: Sequence[tuple[str, str]],
    cycles: Sequence[Sequence[str]] = (),
) -> GraphPicture:
    """Return a picture with sorted nodes and edges."""
    order = sorted(nodes.values(), key=lambda node: (node.external, node.project, _task_number(node.id), node.key))
    return GraphPicture(
        name,
        tuple(order),
        tuple(sorted(set(edges), key=lambda e: (_key_order(e[0]), _key_order(e[1])))),
        tuple(tuple(cycle) for cycle in cycles),
    )


def _key_order(key: str) -> tuple[str, int, str]:
    project, _, id_ = key.partition(":")
    return project, _task_number(id_), key


def _task_number(id_: str) -> int:
    return number_of_id(id_) if id_[1:].isdecimal() else 0
