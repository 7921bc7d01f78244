"""Parses Markdown into its list rows, with or without checkboxes, and the text and code below each. Pure."""

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
class CodeBlock:
    """A fenced code block: its language and text."""

    language: str
    text: str


@dataclass(slots=True)
class ListRow:
    """A row of a list. `done` is None without a checkbox, `ordered` True if numbered; `more` are the rows below it."""

    text: str
    done: bool | None = None
    ordered: bool = False
    id: str = ""
    code: list[CodeBlock] = field(default_factory=list)
    more: "list[ListRow]" = field(default_factory=list)
    # Paragraphs below the first.
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """The lists of a text in order, the code outside of them, and the title."""

    rows: list[ListRow]
    code: list[CodeBlock]
    title: str = ""

    @property
    def boxed(self) -> list[ListRow]:
        """The rows that have a checkbox."""
        return [one for one in self.rows if one.done is not None]


def parse_outline(text: str) -> Outline:
    """Return the outline of a text; empty if it is too large."""
    found = Outline([], [])
    if len(text) > LARGEST:
        return found
    stack: list[ListRow] = []
    ordered: list[bool] = []
    tokens = _markdown_reader().parse(text)
    for at, token in enumerate(tokens):
        if token.type in ("ordered_list_open", "bullet_list_open"):
            ordered.append(token.type == "ordered_list_open")
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            ordered.pop()
        elif token.type == "list_item_open":
            row = ListRow("", ordered=ordered[-1])
            (stack[-1].more if stack else found.rows).append(row)
            stack.append(row)
        elif token.type == "list_item_close":
            stack.pop()
        elif token.type in ("fence", "code_block"):
            (stack[-1].code if stack else found.code).append(CodeBlock(_block_language(token), token.content))
        elif token.type == "inline":
            _add_inline_text(found, stack, token, tokens[at - 1])
    return found


def _add_inline_text(found: Outline, stack: list[ListRow], token: Any, before: Any) -> None:
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


def _block_language(token: Any) -> str:
    return str(token.info).strip().split(" ")[0].lower() if token.type == "fence" else ""


@cache
def _markdown_reader() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 40 ms: only who reads a document pays

    # Inline text is not parsed: only blocks count, and emphasis can be written so that parsing takes minutes.
    return MarkdownIt("commonmark").disable("inline")
