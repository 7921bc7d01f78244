"""The graph on paper: DOT, Mermaid, JSON, and a tree for a terminal. Sorted, escaped, the same every time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitnexus.backlog.model import number_of
from gitnexus.base.text import one_line

_MARKS = {"done": "✓", "cancelled": "✗", "active": "▸", "blocked": "■", "pending": "·"}


@dataclass(frozen=True, slots=True)
class Node:
    """A task in a picture; `external` if it belongs to another project than the one drawn."""

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
class Picture:
    """Nodes and edges (from what waits to what it waits for), each in its order."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    cycles: tuple[tuple[str, ...], ...] = ()

    @property
    def spans(self) -> bool:
        """True if it shows several projects on equal terms, so that an id alone says nothing."""
        return len({node.project for node in self.nodes if not node.external}) > 1

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
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


def dot(picture: Picture) -> str:
    """Return it for Graphviz."""
    outside = {node.key for node in picture.nodes if node.external}
    lines = [f"digraph {_quoted('nexus_' + picture.name)} {{", "    rankdir=LR;"]
    for node in picture.nodes:
        style = " style=dashed" if node.external else ""
        label = _quoted(f"{node.id}: {node.title}")
        lines.append(f"    {_quoted(node.key)} [label={label} project={_quoted(node.project)}{style}];")
    for a, b in picture.edges:
        style = " [style=dashed]" if a in outside or b in outside else ""
        lines.append(f"    {_quoted(a)} -> {_quoted(b)}{style};")
    return "\n".join([*lines, "}"])


def mermaid(picture: Picture) -> str:
    """Return it for Mermaid."""
    names = {node.key: f"n{at}" for at, node in enumerate(picture.nodes)}
    outside = {node.key for node in picture.nodes if node.external}
    lines = ["graph LR"]
    lines += [f'    {names[node.key]}["{_entities(f"{node.ref}: {node.title}")}"]' for node in picture.nodes]
    lines += [
        f"    {names[a]} {'-.->' if a in outside or b in outside else '-->'} {names[b]}" for a, b in picture.edges
    ]
    if outside:
        lines.append("    classDef external stroke-dasharray: 4")
        lines.append(f"    class {','.join(names[key] for key in names if key in outside)} external")
    return "\n".join(lines)


def tree(picture: Picture, most: int) -> str:
    """Return it as a person reads it: what nothing waits for at the left, what it waits for below it."""
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
        line = _line(nodes[key], whole=picture.spans)
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


def _line(node: Node, *, whole: bool) -> str:
    name = node.ref if whole or node.external else node.id
    return f"{_MARKS.get(node.status, '·')} {name}  {one_line(node.title, 60)}"


def _quoted(text: str) -> str:
    escaped = one_line(text, 400).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _entities(text: str) -> str:
    clean = one_line(text, 200)
    return "".join(ch if ch.isalnum() or ch in " :._-,/" else f"#{ord(ch)};" for ch in clean)


def picture(
    name: str,
    nodes: Mapping[str, Node],
    edges: Sequence[tuple[str, str]],
    cycles: Sequence[Sequence[str]] = (),
) -> Picture:
    """Return a picture in its one order."""
    order = sorted(nodes.values(), key=lambda node: (node.external, node.project, _number(node.id), node.key))
    return Picture(name, tuple(order), tuple(sorted(set(edges), key=lambda e: (_order(e[0]), _order(e[1])))),
                   tuple(tuple(cycle) for cycle in cycles))  # fmt: skip


def _order(key: str) -> tuple[str, int, str]:
    project, _, id_ = key.partition(":")
    return project, _number(id_), key


def _number(id_: str) -> int:
    return number_of(id_) if id_[1:].isdecimal() else 0
