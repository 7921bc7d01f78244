"""The YAML at the top of a document, read as text, lists and objects of text, each field with its place."""

import re
from typing import TYPE_CHECKING, Any

from gitnexus.docgraph.model import Field

if TYPE_CHECKING:
    import yaml

_FENCE = re.compile(r"---[ \t]*(?:\r\n|\r|\n|\Z)")
_CLOSE = re.compile(r"(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)")
# PyYAML takes about a second for 128 KiB; nobody's front matter is near this.
LARGEST = 16 * 1024
_DEEPEST = 8


class Unreadable(Exception):
    """The front matter is none; `line` is counted from 1 in the document."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line
        self.why = why


def extent(lines: tuple[str, ...]) -> int:
    """Return the number of the line that closes the front matter, 0 where there is none. Raises: Unreadable."""
    if not lines or not _FENCE.fullmatch(lines[0].removeprefix("\ufeff")):
        return 0
    for number, line in enumerate(lines[1:], 2):
        if _CLOSE.fullmatch(line):
            return number
    raise Unreadable(1, "the front matter is never closed by a line ---")


def fields_of(lines: tuple[str, ...], closed: int) -> dict[str, Field]:
    """Return the fields of the front matter that ends at the line `closed`. Raises: Unreadable."""
    before = len(lines[0])
    text = "".join(lines[1 : closed - 1])
    if len(text) > LARGEST:
        raise Unreadable(1, f"the front matter is larger than {LARGEST // 1024} KiB")
    root = _composed(text)
    if root is None:
        return {}
    found: dict[str, Field] = {}
    for key, node in _rows(root):
        name = key.value.upper()
        line = key.start_mark.line + 2
        if name in found:
            raise Unreadable(line, f"the field {name} stands twice")
        start, end = before + node.start_mark.index, before + node.end_mark.index
        found[name] = Field(name, _value(node, 0), line, start, end)
    return found


def rows_of(lines: tuple[str, ...], closed: int, name: str) -> list[tuple[str, str, int]]:
    """Return the rows of a list of links as kind, target and line; a row that is plain text has no kind."""
    root = _composed("".join(lines[1 : closed - 1]))
    listed = next((node for key, node in _rows(root) if key.value.upper() == name), None) if root is not None else None
    if listed is None or _is_empty(listed):
        return []
    found = []
    for node in listed.value if _kind(listed) == "list" else [listed]:
        if _kind(node) == "text":
            found.append(("", node.value, node.start_mark.line + 2))
            continue
        if _kind(node) != "object":
            raise Unreadable(node.start_mark.line + 2, f"a row of {name} should be KIND: TARGET")
        for key, target in _rows(node):
            if _kind(target) != "text" or not target.value:
                raise Unreadable(key.start_mark.line + 2, f"a row of {name} should be KIND: TARGET")
            found.append((key.value.lower(), target.value, key.start_mark.line + 2))
    return found


def _composed(text: str) -> Any:
    """Return the nodes of a YAML text, None for an empty one. No value is made of them: a date stays what was written.

    Raises: Unreadable.
    """
    import yaml  # 35 ms: only who reads a document pays

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="an alias (*name) is not read", problem_mark=mark)
            return super().compose_node(parent, index)

    try:
        root = yaml.compose(text, Plain)
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        line = mark.line + 2 if mark else 1
        raise Unreadable(line, f"the front matter is not valid YAML: {_plain(exc.problem or exc.context)}") from exc
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        raise Unreadable(1, f"the front matter is not valid YAML: {_plain(exc)}") from exc
    if root is None or _is_empty(root):
        return None
    if _kind(root) != "object":
        raise Unreadable(root.start_mark.line + 2, "the front matter should be rows of NAME: VALUE")
    return root


def _rows(node: Any) -> "list[tuple[yaml.ScalarNode, Any]]":
    for key, _ in node.value:
        if _kind(key) != "text":
            raise Unreadable(key.start_mark.line + 2, "a name in the front matter should be text")
    return list(node.value)


def _value(node: Any, depth: int) -> object:
    if depth > _DEEPEST:
        raise Unreadable(node.start_mark.line + 2, "the front matter is nested too deeply")
    match _kind(node):
        case "text":
            return node.value
        case "list":
            return [_value(one, depth + 1) for one in node.value]
        case _:
            return {key.value: _value(one, depth + 1) for key, one in _rows(node)}


def _kind(node: Any) -> str:
    return {"scalar": "text", "sequence": "list", "mapping": "object"}[node.id]


def _is_empty(node: Any) -> bool:
    return _kind(node) == "text" and node.value in ("", "~", "null") and not node.style


def _plain(words: object) -> str:
    return " ".join(str(words).split())[:200]
