"""Parses the YAML front matter of a document into text, lists and objects of text, each with its position."""

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gitnexus.base.frontmatter import UnclosedFrontMatter, locate_front_matter
from gitnexus.docgraph.model import FrontMatterField

if TYPE_CHECKING:
    import yaml

# PyYAML takes about a second for 128 KiB; nobody's front matter is near this.
LARGEST = 16 * 1024
_DEEPEST = 8


class UnreadableFrontMatter(Exception):
    """The front matter cannot be parsed; `line` is counted from 1 in the document."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line
        self.why = why


def find_closing_line(lines: tuple[str, ...]) -> int:
    """Return the line that closes the front matter, 0 if there is none. Raises: UnreadableFrontMatter."""
    raw = [line.encode("utf-8", "surrogatepass") for line in lines]
    try:
        span = locate_front_matter(b"".join(raw), dots=True)
    except UnclosedFrontMatter as exc:
        raise UnreadableFrontMatter(1, str(exc)) from exc
    if span is None:
        return 0
    return next(number for number, end in enumerate(accumulate(map(len, raw)), 1) if end >= span.text)


def parse_fields(lines: tuple[str, ...], closed: int) -> dict[str, FrontMatterField]:
    """Return the fields of the front matter that ends at line `closed`. Raises: UnreadableFrontMatter."""
    before = len(lines[0])
    text = "".join(lines[1 : closed - 1])
    if len(text) > LARGEST:
        raise UnreadableFrontMatter(1, f"the front matter is larger than {LARGEST // 1024} KiB")
    root = _compose_yaml(text)
    if root is None:
        return {}
    found: dict[str, FrontMatterField] = {}
    for key, node in _mapping_rows(root):
        name = key.value.upper()
        line = key.start_mark.line + 2
        if name in found:
            raise UnreadableFrontMatter(line, f"the field {name} occurs twice")
        start, end = before + node.start_mark.index, before + node.end_mark.index
        found[name] = FrontMatterField(name, _node_value(node, 0), line, start, end)
    return found


def parse_link_rows(lines: tuple[str, ...], closed: int, name: str) -> list[tuple[str, str, int]]:
    """Return the rows of a list of links as kind, target and line; a plain text row has no kind."""
    root = _compose_yaml("".join(lines[1 : closed - 1]))
    listed = (
        next((node for key, node in _mapping_rows(root) if key.value.upper() == name), None)
        if root is not None
        else None
    )
    if listed is None or _is_empty_node(listed):
        return []
    found = []
    for node in listed.value if _node_kind(listed) == "list" else [listed]:
        if _node_kind(node) == "text":
            found.append(("", node.value, node.start_mark.line + 2))
            continue
        if _node_kind(node) != "object":
            raise UnreadableFrontMatter(node.start_mark.line + 2, f"a row of {name} should be KIND: TARGET")
        for key, target in _mapping_rows(node):
            if _node_kind(target) != "text" or not target.value:
                raise UnreadableFrontMatter(key.start_mark.line + 2, f"a row of {name} should be KIND: TARGET")
            found.append((key.value.lower(), target.value, key.start_mark.line + 2))
    return found


def _compose_yaml(text: str) -> Any:
    """Return the nodes of a YAML text, None for an empty one. No values are built: a date stays text.

    Raises: UnreadableFrontMatter.
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
        raise UnreadableFrontMatter(
            line, f"the front matter is not valid YAML: {_one_line_text(exc.problem or exc.context)}"
        ) from exc
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        raise UnreadableFrontMatter(1, f"the front matter is not valid YAML: {_one_line_text(exc)}") from exc
    if root is None or _is_empty_node(root):
        return None
    if _node_kind(root) != "object":
        raise UnreadableFrontMatter(root.start_mark.line + 2, "the front matter should be rows of NAME: VALUE")
    return root


def _mapping_rows(node: Any) -> "list[tuple[yaml.ScalarNode, Any]]":
    for key, _ in node.value:
        if _node_kind(key) != "text":
            raise UnreadableFrontMatter(key.start_mark.line + 2, "a name in the front matter should be text")
    return list(node.value)


def _node_value(node: Any, depth: int) -> object:
    if depth > _DEEPEST:
        raise UnreadableFrontMatter(node.start_mark.line + 2, "the front matter is nested too deeply")
    match _node_kind(node):
        case "text":
            return node.value
        case "list":
            return [_node_value(one, depth + 1) for one in node.value]
        case _:
            return {key.value: _node_value(one, depth + 1) for key, one in _mapping_rows(node)}


def _node_kind(node: Any) -> str:
    return {"scalar": "text", "sequence": "list", "mapping": "object"}[node.id]


def _is_empty_node(node: Any) -> bool:
    return _node_kind(node) == "text" and node.value in ("", "~", "null") and not node.style


def _one_line_text(words: object) -> str:
    return " ".join(str(words).split())[:200]
