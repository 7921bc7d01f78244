"""Parses JSON with comments and trailing commas, and returns where each value is in the text.

Settings files belong to the user. They are never rewritten from parsed values, only read and added to.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gitnexus.base.errors import Invalid

_BLANK = re.compile(r"[\s\ufeff]*")
_LITERAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DEEPEST = 200


@dataclass(slots=True)
class JsonNode:
    """One value with its `start` and `end` in the text. A member of an object has a key, at which `start` is."""

    start: int
    end: int = 0
    value: Any = None
    key: str | None = None
    opening: int = -1  # the position of the bracket of an object or a list, -1 for anything else
    children: list["JsonNode"] = field(default_factory=list)

    def member(self, key: str) -> "JsonNode | None":
        """Return the member with a key; of duplicates, the last."""
        return next((child for child in reversed(self.children) if child.key == key), None)

    @property
    def is_object(self) -> bool:
        """True for an object."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """True for a list."""
        return isinstance(self.value, list)


class _JsonReader:
    def __init__(self, text: str, where: str) -> None:
        self.text, self.where, self.at = text, where, 0

    def refuse(self, why: str, at: int | None = None) -> Invalid:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return Invalid(
            f"{self.where} is not JSON: line {line}, column {column}: {why}",
            hint="nothing was changed; correct the file, then try again",
            context={"file": self.where, "line": line, "column": column},
        )

    def skip(self) -> None:
        """Skip blanks and comments."""
        while True:
            found = _BLANK.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.text.startswith("//", self.at):
                newline = self.text.find("\n", self.at)
                self.at = len(self.text) if newline < 0 else newline
            elif self.text.startswith("/*", self.at):
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    raise self.refuse("this comment has no end")
                self.at = end + 2
            else:
                return

    def string(self) -> str:
        try:
            value, self.at = json.decoder.scanstring(self.text, self.at + 1, True)  # type: ignore[attr-defined]
        except json.JSONDecodeError as exc:
            raise self.refuse(exc.msg[0].lower() + exc.msg[1:], exc.pos) from exc
        return str(value)

    def read(self, depth: int = 0) -> JsonNode:
        if depth > _DEEPEST:
            raise self.refuse("nested too deeply")
        node = JsonNode(self.at)
        mark = self.text[self.at : self.at + 1]
        if mark == '"':
            node.value = self.string()
        elif mark == "{":
            self.read_container(node, "}", depth)
            node.value = {child.key: child.value for child in node.children}
        elif mark == "[":
            self.read_container(node, "]", depth)
            node.value = [child.value for child in node.children]
        else:
            found = _LITERAL.match(self.text, self.at)
            if found is None:
                raise self.refuse("a value is missing" if mark in ("", "}", "]", ",") else f"{mark!r} begins no value")
            node.value, self.at = json.loads(found[0]), found.end()
        node.end = self.at
        return node

    def read_container(self, node: JsonNode, closing: str, depth: int) -> None:
        node.opening = self.at
        self.at += 1
        self.skip()
        while not self.text.startswith(closing, self.at):
            node.children.append(self.member(depth) if closing == "}" else self.read(depth + 1))
            self.skip()
            if self.text.startswith(",", self.at):
                self.at += 1
                self.skip()
            elif not self.text.startswith(closing, self.at):
                raise self.refuse(f"',' or {closing!r} is missing")
        self.at += 1

    def member(self, depth: int) -> JsonNode:
        start = self.at
        if not self.text.startswith('"', start):
            raise self.refuse("a key in double quotes is missing")
        key = self.string()
        self.skip()
        if not self.text.startswith(":", self.at):
            raise self.refuse("':' is missing")
        self.at += 1
        self.skip()
        node = self.read(depth + 1)
        node.start, node.key = start, key
        return node


def parse_json_text(text: str, where: str) -> JsonNode | None:
    """Return the value of a document, None for an empty one. Raises: Invalid, with line and column."""
    reader = _JsonReader(text, where)
    reader.skip()
    if reader.at == len(text):
        return None
    node = reader.read()
    reader.skip()
    if reader.at != len(text):
        raise reader.refuse("more follows after the end")
    return node


def find_json_node(root: JsonNode | None, path: tuple[str, ...]) -> JsonNode | None:
    """Return the node at a path of keys."""
    for key in path:
        root = root.member(key) if root is not None and root.is_object else None
    return root


def iterate_trivia(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield the comments and commas between two values: `//`, `/*` or `,`, with their positions."""
    at = start
    while at < end:
        if text.startswith("//", at):
            stop = text.find("\n", at, end)
            stop = end if stop < 0 else stop - (text[stop - 1] == "\r")
            yield "//", at, stop
            at = stop
        elif text.startswith("/*", at):
            stop = text.find("*/", at + 2) + 2
            yield "/*", at, stop
            at = stop
        elif text[at] == ",":
            yield ",", at, at + 1
            at += 1
        else:
            at += 1
