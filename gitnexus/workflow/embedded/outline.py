"""What a Markdown text lists: rows with and without boxes, what stands below each, and the code in it. Pure."""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Text that was made to be slow takes long beyond this; the doc graph has the same bound.
LARGEST = 128 * 1024
_BOX = re.compile(r"\[([ xX])\](?:[ \t]+|$)")
_MARK = re.compile(r"[ \t]*\{#([A-Za-z][A-Za-z0-9_.-]{0,79})\}[ \t]*$", re.MULTILINE)


@dataclass(slots=True)
class Code:
    """A fenced block: what language it says it is, and its text."""

    language: str
    text: str


@dataclass(slots=True)
class Row:
    """A row of a list. `done` is None without a box, `ordered` True in a numbered list; `more` are rows below it."""

    text: str
    done: bool | None = None
    ordered: bool = False
    id: str = ""
    code: list[Code] = field(default_factory=list)
    more: "list[Row]" = field(default_factory=list)
    # Paragraphs below the first.
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """The lists of a text in their order, the code outside of them, and the title."""

    rows: list[Row]
    code: list[Code]
    title: str = ""

    @property
    def boxed(self) -> list[Row]:
        """The rows that are a checklist."""
        return [one for one in self.rows if one.done is not None]


def outline_of(text: str) -> Outline:
    """Return what a text lists; of one that is too large, nothing."""
    found = Outline([], [])
    if len(text) > LARGEST:
        return found
    stack: list[Row] = []
    ordered: list[bool] = []
    tokens = _reader().parse(text)
    for at, token in enumerate(tokens):
        if token.type in ("ordered_list_open", "bullet_list_open"):
            ordered.append(token.type == "ordered_list_open")
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            ordered.pop()
        elif token.type == "list_item_open":
            row = Row("", ordered=ordered[-1])
            (stack[-1].more if stack else found.rows).append(row)
            stack.append(row)
        elif token.type == "list_item_close":
            stack.pop()
        elif token.type in ("fence", "code_block"):
            (stack[-1].code if stack else found.code).append(Code(_language(token), token.content))
        elif token.type == "inline":
            _add(found, stack, token, tokens[at - 1])
    return found


def _add(found: Outline, stack: list[Row], token: Any, before: Any) -> None:
    if not stack:
        if before.type == "heading_open" and before.tag == "h1":
            found.title = found.title or " ".join(token.content.split())
        return
    row = stack[-1]
    if row.text:
        row.notes.append(token.content)
        return
    box = _BOX.match(token.content)
    content = token.content[box.end() :] if box else token.content
    mark = _MARK.search(content)
    row.text = " ".join(_MARK.sub("", content).split())
    row.done = box[1] != " " if box else None
    row.id = mark[1] if mark else ""


def _language(token: Any) -> str:
    return str(token.info).strip().split(" ")[0].lower() if token.type == "fence" else ""


@cache
def _reader() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 40 ms: only who reads a document pays

    # What stands inside of a line is not looked at: only blocks count, and emphasis can be made to take minutes.
    return MarkdownIt("commonmark").disable("inline")
