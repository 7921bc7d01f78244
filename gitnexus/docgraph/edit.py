"""Changes one word or row of a document and leaves every other byte unchanged. Pure.

The result is parsed again, and refused unless it differs from the original by exactly the requested change.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from gitnexus.base.errors import Conflict, Invalid
from gitnexus.docgraph.frontmatter import parse_link_rows
from gitnexus.docgraph.model import Doc, ListItem
from gitnexus.docgraph.parse import LABEL_LEVEL, parse_doc

_BOX = re.compile(r"((?:[\s>]*(?:[-+*]|\d{1,9}[.)])[ \t]+)+\[)[ xX](?=\])")
_DASH = re.compile(r"([ \t]*)-[ \t]")
_PLAIN = re.compile(r"[A-Za-z0-9._/][A-Za-z0-9._/#-]*")
_END = re.compile(r"[\r\n]+\Z")


def with_status(doc: Doc, status: str) -> bytes:
    """Return the document with another STATUS, in its front matter or a new one. Raises: Invalid, Conflict."""
    refuse_unsound(doc)
    known = doc.fields.get("STATUS")
    if known is not None:
        value = status if known.end > known.start else f" {status}"
        text = doc.text[: known.start] + value + doc.text[known.end :]
    elif doc.front[1]:
        at = doc.line_of("ID") if "ID" in doc.fields else doc.front[1] - 1
        text = _with_line_inserted(doc, at, f"STATUS: {status}")
    else:
        mark = "\ufeff" if doc.text.startswith("\ufeff") else ""
        end = _line_ending(doc)
        text = f"{mark}---{end}STATUS: {status}{end}---{end}{doc.text[len(mark) :]}"
    return _encode_and_verify(doc, text, lambda shape: shape["fields"].update(STATUS=status))


def with_link(doc: Doc, kind: str, target: str) -> bytes:
    """Return the document with one more row in LINKS, unchanged if it has that row. Raises: Invalid, Conflict."""
    refuse_unsound(doc)
    if any((one.kind, one.target) == (kind, target) for one in doc.links):
        return doc.raw
    row = f"- {kind}: {target if _PLAIN.fullmatch(target) else json.dumps(target, ensure_ascii=False)}"
    rows = parse_link_rows(doc.lines, doc.front[1], "LINKS") if doc.front[1] else []
    known = doc.fields.get("LINKS")
    if rows:
        last = max(line for _, _, line in rows)
        dash = next((found for at in range(last, 1, -1) if (found := _DASH.match(doc.lines[at - 1]))), None)
        text = _with_line_inserted(doc, last, f"{dash[1] if dash else ''}{row}")
    elif known is not None:
        emptied = doc.text[: known.start].rstrip(" ") + doc.text[known.end :]
        text = _with_line_inserted(parse_doc(emptied.encode(), doc.path), known.line, f"  {row}")
    elif doc.front[1]:
        text = _with_line_inserted(doc, doc.front[1] - 1, f"LINKS:{_line_ending(doc)}  {row}")
    else:
        mark = "\ufeff" if doc.text.startswith("\ufeff") else ""
        end = _line_ending(doc)
        text = f"{mark}---{end}LINKS:{end}  {row}{end}---{end}{doc.text[len(mark) :]}"
    return _encode_and_verify(doc, text, lambda shape: shape["links"].append((kind, target)))


def with_box(doc: Doc, item: ListItem, done: bool) -> bytes:
    """Return the document with the box of a row ticked or unticked. Raises: Invalid, Conflict."""
    refuse_unsound(doc)
    if item.done is done:
        return doc.raw
    at = doc.items.index(item)
    lines = list(doc.lines)
    lines[item.first - 1] = _BOX.sub(rf"\g<1>{'x' if done else ' '}", lines[item.first - 1], count=1)

    def change(shape: dict[str, Any]) -> None:
        text, mark, _ = shape["items"][at]
        shape["items"][at] = (text, mark, done)

    return _encode_and_verify(doc, "".join(lines), change)


def with_row(doc: Doc, section: str, row: str, link: str) -> bytes:
    """Return the document with one more row at the end of a section, which is created if it is missing.

    `row` is the text after the dash, `link` the target in it. Raises: Invalid, Conflict.
    """
    refuse_unsound(doc)
    known = next((one for one in doc.sections if one.name == section), None)
    rows = [one for one in doc.items if one.section == section and one.depth == 1] if known else []
    if rows:
        dash = re.match(r"([ \t]*)([-+*]) ", doc.lines[rows[-1].first - 1])
        text = _with_line_inserted(doc, rows[-1].last, f"{dash[1]}{dash[2]} {row}" if dash else f"- {row}")
    elif known is not None:
        text = _with_line_inserted(doc, known.first, f"- {row}")
    else:
        end = _line_ending(doc)
        text = _with_line_inserted(doc, len(doc.lines), f"{end}{section}:{end}- {row}")

    def change(shape: dict[str, Any]) -> None:
        shape["links"].append(("", link))
        after = [(one.text, one.id, one.done) for one in parse_doc(text.encode(), doc.path).items]
        # The new one is found by comparing the others with those before.
        shape["items"] = next(
            (after for at in range(len(after)) if after[:at] + after[at + 1 :] == shape["items"]), shape["items"]
        )
        if known is None:
            shape["sections"].append((LABEL_LEVEL, section, ""))

    return _encode_and_verify(doc, text, change)


def refuse_unsound(doc: Doc) -> None:
    """Refuse to edit a document that could not be parsed. Raises: Conflict during a merge, else Invalid."""
    if doc.sound:
        return
    found = doc.findings[0]
    words = f"{doc.path}:{found.line}: {found.message}; it is left as it is"
    if found.code == "conflict":
        raise Conflict(words, hint="finish the merge first; git status shows how")
    raise Invalid(words, hint="correct that first; git nexus agenda check lists all problems")


def _with_line_inserted(doc: Doc, after: int, line: str) -> str:
    """Return the text with a line inserted after a line number, with the document's line ends."""
    lines = list(doc.lines)
    end = _line_ending(doc)
    if after and lines and not _END.search(lines[after - 1]):
        lines.insert(after, f"{end}{line}")
    else:
        lines.insert(after, f"{line}{end}")
    return "".join(lines)


def _line_ending(doc: Doc) -> str:
    found = _END.search(doc.lines[0]) if doc.lines else None
    return found[0] if found else "\n"


def _encode_and_verify(doc: Doc, text: str, change: Callable[[dict[str, Any]], None]) -> bytes:
    wanted = _content_of_doc(doc)
    change(wanted)
    raw = text.encode()
    after = parse_doc(raw, doc.path)
    found = _content_of_doc(after)
    if not after.sound or _with_sorted_links(found) != _with_sorted_links(wanted):
        raise Invalid(
            f"{doc.path} is written in a way that cannot be changed for you without touching the rest",
            hint="make the change by hand; git nexus agenda check shows whether it is consistent",
        )
    return raw


def _content_of_doc(doc: Doc) -> dict[str, Any]:
    """Return the content of a document without line numbers."""
    return {
        "fields": {name: one.value for name, one in doc.fields.items() if name != "LINKS"},
        "sections": [(one.level, one.name, one.id) for one in doc.sections],
        "items": [(one.text, one.id, one.done) for one in doc.items],
        "links": [(one.kind, one.target) for one in doc.links],
    }


def _with_sorted_links(shape: dict[str, Any]) -> dict[str, Any]:
    return {**shape, "links": sorted(shape["links"])}
