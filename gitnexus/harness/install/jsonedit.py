"""Adding to a JSON text and taking away from it, at the place: every addition is an insertion and nothing else."""

import json
from collections.abc import Callable
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.harness.install.jsontext import Node, found_at, parsed, trivia

Path = tuple[str, ...]
# What was put in, in this order: at which place of the text as it was then, and what.
Insertion = tuple[int, str]


class JsonText:
    """A JSON document that is being added to. `inserted` undoes it, from the last to the first."""

    def __init__(self, text: str, where: str) -> None:
        """Raises: Invalid for a text that is no JSON."""
        self.text, self.where = text, where
        self.inserted: list[Insertion] = []
        self.made: list[Path] = []
        self.root = parsed(text, where)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.step = _step(text, self.root)

    def at(self, path: Path) -> Node | None:
        """Return what stands at a path."""
        return found_at(self.root, path)

    def put(self, path: Path, value: Any) -> None:
        """Add a member, and the objects above it that are missing. Raises: Invalid where one is no object."""
        self._parent(path[:-1], dict)
        self._into(path[:-1], value, key=path[-1])

    def append(self, path: Path, value: Any) -> None:
        """Add an item to a list, and what is missing above it. Raises: Invalid where something else stands there."""
        self._parent(path, list)
        self._into(path, value, key=None)

    def _parent(self, path: Path, kind: type) -> None:
        if self.root is None:
            blank = self.text.lstrip("\ufeff \t\r\n")
            lead = "" if not blank or self.text.endswith("\n") else self.newline
            self._insert(len(self.text), f"{lead}{{}}{self.newline}")
        for depth in range(len(path) + 1):
            here = self.at(path[:depth])
            wanted = kind if depth == len(path) else dict
            if here is None:
                self._into(path[: depth - 1], {} if wanted is dict else [], key=path[depth - 1])
                self.made.append(path[:depth])
            elif not isinstance(here.value, wanted):
                name = ".".join(path[:depth]) or "the whole"
                raise Invalid(
                    f"{self.where}: {name} should be {'an object' if wanted is dict else 'a list'}",
                    hint="nothing was changed; mend the file, then try again",
                )

    def _into(self, path: Path, value: Any, key: str | None) -> None:
        parent = self.at(path)
        if parent is None:
            raise Invalid(f"{self.where}: {'.'.join(path)} is not there")
        close = parent.end - 1
        inner = self.text[parent.opening + 1 : close]
        lines = "\n" in inner or (not parent.children and "\n" in self.text) or self.text.strip("\ufeff \r\n") == "{}"
        outer = _indentation(self.text, parent.opening)
        indent = _child_indent(self.text, parent) or outer + self.step
        text = _written(value, key, self.newline if lines else "", indent if lines else "", self.step)
        if not parent.children:
            first = self._after_trivia(parent.opening + 1, close)
            tail = f"{self.newline}{outer}" if lines and not inner.strip(" \t") and "\n" not in inner else ""
            self._insert(first, f"{self.newline}{indent}{text}{tail}" if lines else text)
            return
        last = parent.children[-1]
        between = list(trivia(self.text, last.end, close))
        comma = "" if any(kind == "," for kind, _, _ in between) else ","
        lead = f"{self.newline}{indent}" if lines else " "
        if not between or (comma and all(kind == "," for kind, _, _ in between)):
            self._insert(last.end, f"{comma}{lead}{text}")
            return
        # A comment stands behind the last value: the comma goes before it, ours behind it.
        at = between[-1][2]
        if between[-1][0] == "//" and not lines:
            lead = f"{self.newline}{indent}"
        self._insert(at, f"{lead}{text}", *([(last.end, comma)] if comma else []))

    def _after_trivia(self, start: int, close: int) -> int:
        between = list(trivia(self.text, start, close))
        return between[-1][2] if between else start

    def _insert(self, at: int, text: str, *more: Insertion) -> None:
        for place, piece in ((at, text), *more):
            self.text = self.text[:place] + piece + self.text[place:]
            self.inserted.append((place, piece))
        self.root = parsed(self.text, self.where)


def without(text: str, where: str, path: Path, ours: Callable[[Any], bool]) -> str:
    """Return a text without the member at `path`, or without the items of the list there, that are ours."""
    while True:
        root = parsed(text, where)
        here = found_at(root, path)
        parent = found_at(root, path[:-1])
        if here is None or parent is None:
            return text
        if not here.is_list:
            return _cut(text, parent, here) if ours(here.value) else text
        item = next((child for child in here.children if ours(child.value)), None)
        if item is None:
            return text
        text = _cut(text, here, item)


def without_empty(text: str, where: str, path: Path) -> str:
    """Return a text without an object or list at `path` that has nothing in it any more, not even a comment."""
    root = parsed(text, where)
    here, parent = found_at(root, path), found_at(root, path[:-1])
    if here is None or parent is None or here.children or here.opening < 0:
        return text
    return text if text[here.opening + 1 : here.end - 1].strip() else _cut(text, parent, here)


def _cut(text: str, parent: Node, child: Node) -> str:
    """Take one child out with its comma and the blanks before it; comments of others stay."""
    at = next(index for index, one in enumerate(parent.children) if one is child)
    close = parent.end - 1
    after = parent.children[at + 1].start if at + 1 < len(parent.children) else close
    before = parent.children[at - 1].end if at else parent.opening + 1
    start = child.start
    while start > before and text[start - 1] in " \t\r\n":
        start -= 1
    behind = next((stop for kind, _, stop in trivia(text, child.end, after) if kind == ","), None)
    if behind is not None:
        cut = text[:start] + _joined(text, before, start, text[child.end : behind - 1] + text[behind:])
    else:
        cut = text[:start] + _joined(text, before, start, text[child.end :])
        comma = [begin for kind, begin, _ in trivia(text, before, start) if kind == ","] if at else []
        if comma:
            cut = cut[: comma[-1]] + cut[comma[-1] + 1 :]
    if len(parent.children) == 1 and behind is None and not text[parent.opening + 1 : start].strip():
        tail = cut[start:]
        blank = len(tail) - len(tail.lstrip(" \t\r\n"))
        cut = cut[: parent.opening + 1] + tail[blank:]
    return cut


def _joined(text: str, before: int, start: int, rest: str) -> str:
    """Return the rest, on a line of its own where a comment up to the end of the line would swallow it."""
    last = [kind for kind, _, stop in trivia(text, before, start) if stop == start]
    swallowed = last == ["//"] and not rest.lstrip(" \t").startswith(("\n", "\r\n"))
    return f"\n{rest}" if swallowed else rest


def _written(value: Any, key: str | None, newline: str, indent: str, step: str) -> str:
    if newline:
        body = json.dumps(value, ensure_ascii=False, indent=step).replace("\n", newline + indent)
    else:
        body = json.dumps(value, ensure_ascii=False)
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _indentation(text: str, at: int) -> str:
    """Return the blanks that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _child_indent(text: str, parent: Node) -> str | None:
    """Return the blanks before a child that begins its own line, so that ours stands below it."""
    for child in reversed(parent.children):
        line = text[text.rfind("\n", 0, child.start) + 1 : child.start]
        if not line.strip(" \t") and "\n" in text[parent.opening : child.start]:
            return line
    return None


def _step(text: str, root: Node | None) -> str:
    """Return what the document indents by; two blanks where it does not tell."""
    first = _child_indent(text, root) if root is not None and root.children else None
    return first or "  "
