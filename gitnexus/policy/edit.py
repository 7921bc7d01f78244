"""Adds or removes one rule, or sets the mode, in the text of a policy file; keeps every other byte."""

import re
from typing import Any

from gitnexus.base.errors import Failed, Invalid, NotFound
from gitnexus.policy.model import Mode, Verdict
from gitnexus.policy.rules import FILE, VERSION, Layer, Policy, PolicyRule, find_front_matter, parse_policy, parse_rule

_ORDER = ("read", "write", "run", "hosts", "handoff", "kind", "role", "network", "unconfined", "name", "why")
_MODE_LINE = re.compile(rb"^mode[ \t]*:[^\r\n#]*?(?=[ \t]*(?:#[^\r\n]*)?\r?$)", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_WORDS_OF_YAML = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}


def with_added_rule(
    raw: bytes, verdict: Verdict, row: dict[str, Any], layer: Layer, where: str = FILE
) -> tuple[bytes, PolicyRule]:
    """Return the file with another rule at the end of its list, and the rule. Raises: Invalid, Failed."""
    before = parse_policy(raw, layer, where)
    meant = parse_rule(row, verdict, "", layer, "the rule")
    lines = _Lines(raw, where)
    text = "{" + ", ".join(f"{key}: {_flow_value(row[key])}" for key in _ORDER if key in row) + "}"
    place = lines.list_of(verdict)
    if place is None:
        lines.insert(lines.end, f"{verdict}:", f"  - {_without_braces(text)}")
    elif place.items:
        last = place.items[-1]
        lines.insert(last.end, f"{' ' * last.indent}- {_without_braces(text)}")
    else:
        lines.replace(place.line, f"{verdict}:")
        lines.insert(place.line + 1, f"  - {_without_braces(text)}")
    found = lines.joined()
    after = _read_back(found, layer, where)
    new = [rule for rule in after.rules if rule not in before.rules]
    if (
        len(new) != 1
        or _without_id(new[0]) != _without_id(meant)
        or [rule for rule in after.rules if rule != new[0]] != list(before.rules)
    ):
        raise _edit_by_hand_error(where)
    return found, new[0]


def with_removed_rule(raw: bytes, rule_id: str, layer: Layer, where: str = FILE) -> tuple[bytes, PolicyRule]:
    """Return the file without one rule, and the rule. Raises: NotFound, Invalid, Failed."""
    before = parse_policy(raw, layer, where)
    gone = next((rule for rule in before.rules if rule.id == rule_id), None)
    if gone is None:
        raise NotFound(f"{where} has no rule {rule_id}", hint="git nexus policy show lists them")
    lines = _Lines(raw, where)
    at = [rule for rule in before.rules if rule.verdict == gone.verdict].index(gone)
    place = lines.list_of(gone.verdict)
    if place is None or at >= len(place.items):
        raise _edit_by_hand_error(where)
    item = place.items[at]
    lines.cut(item.start, item.end)
    found = lines.joined()
    left = [_without_id(rule) for rule in before.rules if rule is not gone]
    if [_without_id(rule) for rule in _read_back(found, layer, where).rules] != left:
        raise _edit_by_hand_error(where)
    return found, gone


def with_mode(raw: bytes, mode: Mode, layer: Layer, where: str = FILE) -> bytes:
    """Return the file with another mode. Raises: Invalid, Failed."""
    before = parse_policy(raw, layer, where)
    start, end = find_front_matter(raw, where)
    head = raw[start:end]
    if _MODE_LINE.search(head):
        found = raw[:start] + _MODE_LINE.sub(b"mode: " + mode.encode(), head, count=1) + raw[end:]
    else:
        lines = _Lines(raw, where)
        lines.insert(lines.first + 1, f"mode: {mode}")
        found = lines.joined()
    if _read_back(found, layer, where) != before.changed(mode=mode):
        raise _edit_by_hand_error(where)
    return found


def _without_id(rule: PolicyRule) -> PolicyRule:
    """Return a rule without its number, which changes when an earlier rule is removed."""
    return rule.changed(id="")


def _read_back(raw: bytes, layer: Layer, where: str) -> Policy:
    try:
        return parse_policy(raw, layer, where)
    except Invalid as exc:
        raise _edit_by_hand_error(where) from exc


def _edit_by_hand_error(where: str) -> Failed:
    return Failed(
        f"{where} is written in a way that this cannot change without touching the rest",
        hint="nothing was changed; git nexus policy edit opens it",
    )


def _without_braces(text: str) -> str:
    """Return a one-key rule as `- write: […]`; a rule with more keys keeps its braces on one line."""
    return text[1:-1] if text.count(": ") == 1 else text


def _flow_value(value: Any) -> str:
    """Return a value in YAML flow style, quoted unless it is a plain word."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quote_text(str(one)) for one in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML else _quote_text(text)


def _quote_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in escaped) + '"'


class _Item:
    """The lines of one rule: `start` inclusive, `end` exclusive."""

    __slots__ = ("end", "indent", "start")

    def __init__(self, start: int, end: int, indent: int) -> None:
        self.start, self.end, self.indent = start, end, indent


class _List:
    """A list of rules: the line of its key, and its items."""

    __slots__ = ("items", "line")

    def __init__(self, line: int, items: list[_Item]) -> None:
        self.line, self.items = line, items


class _Lines:
    """A policy file as lines with their endings; `first` and `end` are those of the front matter."""

    def __init__(self, raw: bytes, where: str) -> None:
        start, end = find_front_matter(raw, where)
        self._where = where
        self._newline = b"\r\n" if b"\r\n" in raw[: end or 200] else b"\n"
        if end == 0:
            empty = self._newline.join([b"---", f"version: {VERSION}".encode(), b"---", b"", b""])
            raw = (empty if raw else empty[: -len(self._newline)]) + raw
            start, end = find_front_matter(raw, where)
        self._lines = raw.splitlines(keepends=True) if b"\r" not in raw else re.findall(rb"[^\n]*\n|[^\n]+", raw)
        self.first = 1
        self.end = raw[:end].count(b"\n")
        self._front = raw[start:end].decode("utf-8")
        if self._root_node() is None:
            self.insert(1, f"version: {VERSION}")
            self._front = f"version: {VERSION}\n{self._front}"
            self.end += 1

    def _root_node(self) -> Any:
        import yaml  # already parsed at this point

        return yaml.compose(self._front, yaml.SafeLoader)

    def list_of(self, key: str) -> _List | None:
        """Return the position of the list under a key. Raises: Failed if it is not written as a block."""
        root = self._root_node()
        if root.flow_style:
            raise _edit_by_hand_error(self._where)
        for name, value in root.value:
            if name.value == key:
                return _List(name.start_mark.line + 1, self._list_items(value, name.start_mark.line + 1))
        return None

    def _list_items(self, value: Any, line: int) -> list[_Item]:
        if not value.value:
            return []
        if value.flow_style or not isinstance(value.value, list):
            raise _edit_by_hand_error(self._where)
        found = []
        for item in value.value:
            start = self._dash_before(item.start_mark.line + 1, line)
            indent = len(self._lines[start]) - len(self._lines[start].lstrip())
            found.append(_Item(start, self._last_line(item) + 1, indent))
        return found

    def _dash_before(self, at: int, least: int) -> int:
        while at > least and not self._lines[at].lstrip().startswith(b"-"):
            at -= 1
        return at

    def _last_line(self, node: Any) -> int:
        """Return the last line with content of a node: YAML also counts following blank and comment lines."""
        # A block ends where the next token begins; a flow mapping ends on its own line.
        line = int(node.end_mark.line) + (1 if node.flow_style or isinstance(node.value, str) else 0)
        while line > node.start_mark.line + 1 and self._lines[line].strip().split(b"#")[0] == b"":
            line -= 1
        return min(line, self.end - 1)

    def insert(self, at: int, *texts: str) -> None:
        """Insert lines before line `at`."""
        self._lines[at:at] = [text.encode() + self._newline for text in texts]

    def replace(self, at: int, text: str) -> None:
        """Replace the text of a line and keep its comment."""
        before = self._lines[at].rstrip(b"\r\n")
        comment = re.search(rb"[ \t]+#.*$", before)
        self._lines[at] = text.encode() + (comment[0] if comment else b"") + self._newline

    def cut(self, start: int, end: int) -> None:
        """Delete lines."""
        del self._lines[start:end]

    def joined(self) -> bytes:
        """Return the file."""
        return b"".join(self._lines)
