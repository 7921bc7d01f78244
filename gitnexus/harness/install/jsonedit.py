"""Adds values to and removes them from a JSON text in place. An addition inserts text and changes nothing else."""

import json
from collections.abc import Callable
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.harness.install.jsontext import JsonNode, find_json_node, iterate_trivia, parse_json_text

Path = tuple[str, ...]
# What was put in, in this order: at which place of the text as it was then, and what.
Insertion = tuple[int, str]


class JsonText:
    """A JSON document that is being added to. `inserted` undoes the additions, from last to first."""

    def __init__(self, text: str, where: str) -> None:
        """Parse the text. Raises: Invalid for a text that is not JSON."""
        self.text, self.where = text, where
        self.inserted: list[Insertion] = []
        self.made: list[Path] = []
        self.root = parse_json_text(text, where)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.step = _indent_step(text, self.root)

    def at(self, path: Path) -> JsonNode | None:
        """Return the value at a path."""
        return find_json_node(self.root, path)

    def put(self, path: Path, value: Any) -> None:
        """Add a member, and the missing objects above it. Raises: Invalid if one of them is not an object."""
        self._ensure_parent(path[:-1], dict)
        self._insert_child(path[:-1], value, key=path[-1])

    def append(self, path: Path, value: Any) -> None:
        """Add an item to a list, and what is missing above it. Raises: Invalid if another value is in its place."""
        self._ensure_parent(path, list)
        self._insert_child(path, value, key=None)

    def _ensure_parent(self, path: Path, kind: type) -> None:
        if self.root is None:
            blank = self.text.lstrip("\ufeff \t\r\n")
            lead = "" if not blank or self.text.endswith("\n") else self.newline
            self._insert_text(len(self.text), f"{lead}{{}}{self.newline}")
        for depth in range(len(path) + 1):
            here = self.at(path[:depth])
            wanted = kind if depth == len(path) else dict
            if here is None:
                self._insert_child(path[: depth - 1], {} if wanted is dict else [], key=path[depth - 1])
                self.made.append(path[:depth])
            elif not isinstance(here.value, wanted):
                name = ".".join(path[:depth]) or "the whole"
                raise Invalid(
                    f"{self.where}: {name} should be {'an object' if wanted is dict else 'a list'}",
                    hint="nothing was changed; correct the file, then try again",
                )

    def _insert_child(self, path: Path, value: Any, key: str | None) -> None:
        parent = self.at(path)
        if parent is None:
            raise Invalid(f"{self.where}: {'.'.join(path)} is not there")
        close = parent.end - 1
        inner = self.text[parent.opening + 1 : close]
        lines = "\n" in inner or (not parent.children and "\n" in self.text) or self.text.strip("\ufeff \r\n") == "{}"
        outer = _line_indentation(self.text, parent.opening)
        indent = _child_indent(self.text, parent) or outer + self.step
        text = _render_member(value, key, self.newline if lines else "", indent if lines else "", self.step)
        if not parent.children:
            first = self._end_of_trivia(parent.opening + 1, close)
            tail = f"{self.newline}{outer}" if lines and not inner.strip(" \t") and "\n" not in inner else ""
            self._insert_text(first, f"{self.newline}{indent}{text}{tail}" if lines else text)
            return
        last = parent.children[-1]
        between = list(iterate_trivia(self.text, last.end, close))
        comma = "" if any(kind == "," for kind, _, _ in between) else ","
        lead = f"{self.newline}{indent}" if lines else " "
        if not between or (comma and all(kind == "," for kind, _, _ in between)):
            self._insert_text(last.end, f"{comma}{lead}{text}")
            return
        # There is a comment after the last value: the comma goes before it, our entry after it.
        at = between[-1][2]
        if between[-1][0] == "//" and not lines:
            lead = f"{self.newline}{indent}"
        self._insert_text(at, f"{lead}{text}", *([(last.end, comma)] if comma else []))

    def _end_of_trivia(self, start: int, close: int) -> int:
        between = list(iterate_trivia(self.text, start, close))
        return between[-1][2] if between else start

    def _insert_text(self, at: int, text: str, *more: Insertion) -> None:
        for place, piece in ((at, text), *more):
            self.text = self.text[:place] + piece + self.text[place:]
            self.inserted.append((place, piece))
        self.root = parse_json_text(self.text, self.where)


def without_our_value(text: str, where: str, path: Path, ours: Callable[[Any], bool]) -> str:
    """Return a text without the member at `path`, or the items of the list there, that are ours."""
    while True:
        root = parse_json_text(text, where)
        here = find_json_node(root, path)
        parent = find_json_node(root, path[:-1])
        if here is None or parent is None:
            return text
        if not here.is_list:
            return _cut_child(text, parent, here) if ours(here.value) else text
        item = next((child for child in here.children if ours(child.value)), None)
        if item is None:
            return text
        text = _cut_child(text, here, item)


def without_empty_container(text: str, where: str, path: Path) -> str:
    """Return a text without the object or list at `path` if it is empty and has no comment."""
    root = parse_json_text(text, where)
    here, parent = find_json_node(root, path), find_json_node(root, path[:-1])
    if here is None or parent is None or here.children or here.opening < 0:
        return text
    return text if text[here.opening + 1 : here.end - 1].strip() else _cut_child(text, parent, here)


def _cut_child(text: str, parent: JsonNode, child: JsonNode) -> str:
    """Remove one child with its comma and the blanks before it; the user's comments stay."""
    at = next(index for index, one in enumerate(parent.children) if one is child)
    close = parent.end - 1
    after = parent.children[at + 1].start if at + 1 < len(parent.children) else close
    before = parent.children[at - 1].end if at else parent.opening + 1
    start = child.start
    while start > before and text[start - 1] in " \t\r\n":
        start -= 1
    behind = next((stop for kind, _, stop in iterate_trivia(text, child.end, after) if kind == ","), None)
    if behind is not None:
        cut = text[:start] + _rest_after_comment(text, before, start, text[child.end : behind - 1] + text[behind:])
    else:
        cut = text[:start] + _rest_after_comment(text, before, start, text[child.end :])
        comma = [begin for kind, begin, _ in iterate_trivia(text, before, start) if kind == ","] if at else []
        if comma:
            cut = cut[: comma[-1]] + cut[comma[-1] + 1 :]
    if len(parent.children) == 1 and behind is None and not text[parent.opening + 1 : start].strip():
        tail = cut[start:]
        blank = len(tail) - len(tail.lstrip(" \t\r\n"))
        cut = cut[: parent.opening + 1] + tail[blank:]
    return cut


def _rest_after_comment(text: str, before: int, start: int, rest: str) -> str:
    """Return the rest, on a new line if a line comment before it would swallow it."""
    last = [kind for kind, _, stop in iterate_trivia(text, before, start) if stop == start]
    swallowed = last == ["//"] and not rest.lstrip(" \t").startswith(("\n", "\r\n"))
    return f"\n{rest}" if swallowed else rest


def _render_member(value: Any, key: str | None, newline: str, indent: str, step: str) -> str:
    if newline:
        body = json.dumps(value, ensure_ascii=False, indent=step).replace("\n", newline + indent)
    else:
        body = json.dumps(value, ensure_ascii=False)
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _line_indentation(text: str, at: int) -> str:
    """Return the indentation of the line at an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _child_indent(text: str, parent: JsonNode) -> str | None:
    """Return the indentation of a child that begins its own line, so that ours is aligned with it."""
    for child in reversed(parent.children):
        line = text[text.rfind("\n", 0, child.start) + 1 : child.start]
        if not line.strip(" \t") and "\n" in text[parent.opening : child.start]:
            return line
    return None


def _indent_step(text: str, root: JsonNode | None) -> str:
    """Return the indentation step of the document, two blanks if unknown."""
    first = _child_indent(text, root) if root is not None and root.children else None
    return first or "  "
