"""Parses bytes into a document: the strict Markdown of agendas and phases, with all findings about one file.

markdown-it-py finds the blocks, so text in a fence, a comment or a quotation is neither section nor link. No input
raises an error.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from gitnexus.docgraph.frontmatter import UnreadableFrontMatter, find_closing_line, parse_fields, parse_link_rows
from gitnexus.docgraph.model import Doc, DocFinding, DocLink, DocSection, FrontMatterField, ListItem

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Text that was made to be slow, such as brackets alone, takes seconds at this size and minutes at ten times of it.
LARGEST = 128 * 1024
LABEL_LEVEL = 7
# Three lines of text; what is longer belongs into a list, or into a document that is linked.
LONGEST_PROSE = 400
ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,79}")
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_LABEL = re.compile(r"([A-Z][A-Z0-9_ -]{0,59}):[ \t]*")
_MARK = re.compile(r"[ \t]*\{#([^{}\s]{1,200})\}[ \t]*$", re.MULTILINE)
_BOX = re.compile(r"\[([ xX])\](?:[ \t]+|$)")
_OURS, _MIDDLE, _THEIRS = re.compile(r"<{7}(?: |$)"), re.compile(r"={7}[\r\n]*$"), re.compile(r">{7}(?: |$)")


def parse_doc(raw: bytes, path: str) -> Doc:
    """Return the document in `raw`; problems are among its findings."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        return _unsound_doc(path, raw, line, "encoding", f"byte {exc.start} is not UTF-8")
    if len(raw) > LARGEST:
        return _unsound_doc(path, raw, 1, "too-large", f"it is larger than {LARGEST // 1024} KiB")
    lines = tuple(_LINES.findall(text))
    stopped = _why_half_written(text, lines)
    if stopped is not None:
        return _unsound_doc(path, raw, *stopped, text=text, lines=lines)
    try:
        closed = find_closing_line(lines)
        fields = parse_fields(lines, closed) if closed else {}
        links = _front_matter_links(lines, closed, fields)
    except UnreadableFrontMatter as exc:
        return _unsound_doc(path, raw, exc.line, "front-matter", exc.why, text=text, lines=lines)
    body = _BodyParser(path, lines, closed)
    return Doc(
        path=path,
        raw=raw,
        text=text,
        lines=lines,
        fields=fields,
        front=(1, closed) if closed else (0, 0),
        sections=tuple(body.sections),
        items=tuple(body.items),
        links=(*links, *body.links),
        findings=tuple(body.findings),
    )


def normalize_heading(title: str) -> str:
    """Return a heading for comparison: Global constraints, global-constraints and GLOBAL_CONSTRAINTS are equal."""
    return re.sub(r"\W+", "_", title.strip().rstrip(":")).strip("_").upper()


def _unsound_doc(
    path: str, raw: bytes, line: int, code: str, why: str, *, text: str = "", lines: tuple[str, ...] = ()
) -> Doc:
    found = DocFinding(code=code, path=path, line=line, message=why)
    return Doc(path=path, raw=raw, text=text, lines=lines, findings=(found,), sound=False)


def _why_half_written(text: str, lines: tuple[str, ...]) -> tuple[int, str, str] | None:
    """Return where and why a file looks unfinished: in the middle of a merge, or truncated."""
    if "\0" in text:
        return text.count("\n", 0, text.index("\0")) + 1, "half-written", "it holds a NUL byte"
    ours = next((at for at, line in enumerate(lines, 1) if _OURS.match(line)), 0)
    if ours and any(_MIDDLE.match(line) for line in lines[ours:]) and any(_THEIRS.match(line) for line in lines[ours:]):
        return ours, "conflict", "it holds the marks of a merge that is not finished"
    return None


def _front_matter_links(lines: tuple[str, ...], closed: int, fields: dict[str, FrontMatterField]) -> list[DocLink]:
    found = (
        [DocLink(kind, target, line) for kind, target, line in parse_link_rows(lines, closed, "LINKS")]
        if closed
        else []
    )
    for name in ("DEPENDS",) if "DEPENDS" in fields else ():
        found += [DocLink("depends", target, line) for _, target, line in parse_link_rows(lines, closed, name)]
    return found


@cache
def _markdown_reader() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 40 ms: only who reads a document pays

    # Inside a line only links are parsed, and whatever can hide a link.
    return MarkdownIt("commonmark").disable(["emphasis", "entity"])


class _BodyParser:
    """Collects the text below the front matter in one pass over the blocks."""

    def __init__(self, path: str, lines: tuple[str, ...], closed: int) -> None:
        self.path = path
        self.sections: list[DocSection] = []
        self.items: list[ListItem] = []
        self.links: list[DocLink] = []
        self.findings: list[DocFinding] = []
        self._open: list[dict[str, Any]] = []
        self._lines = lines
        # Numbers of lines stay true: the front matter is there as empty lines. A mark of byte order is no text.
        body = "\n" * closed + "".join(lines[closed:])
        tokens = _markdown_reader().parse(body.removeprefix("\ufeff"))
        depth = 0
        for at, token in enumerate(tokens):
            if token.type == "list_item_open":
                depth += 1
                self.items.append(self._parse_item(tokens, at, depth))
            elif token.type == "list_item_close":
                depth -= 1
            elif token.type == "heading_open" and token.level == 0:
                self._add_heading(int(token.tag[1]), tokens[at + 1])
            elif token.type == "paragraph_open" and token.level == 0:
                self._add_paragraph(tokens[at + 1])
            elif token.type == "inline":
                self._add_links(token)
            elif token.type == "fence":
                self._check_fence(token)
        self._close_sections(0, len(lines) + 1)
        self.sections.sort(key=lambda one: one.first)

    def _parse_item(self, tokens: list[Any], at: int, depth: int) -> ListItem:
        token = tokens[at]
        first = token.map[0] + 1
        inline = next((one for one in tokens[at + 1 : at + 3] if one.type == "inline"), None)
        content = inline.content if inline is not None else ""
        last = max(first, self._last_text(first, token.map[1]))
        box = _BOX.match(content)
        text, mark = self._split_mark(content[box.end() :] if box else content, first)
        for number, line in enumerate(content.split("\n")[1:], first + 1):
            if _LABEL.fullmatch(line):
                words = f"{line.strip()} belongs to the row above it, because there is no empty line between them"
                self._add_finding("label-in-row", number, words)
        return ListItem(
            " ".join(text.split()), mark, box[1] != " " if box else None, self._open_section(), depth, first, last
        )

    def _last_text(self, first: int, end: int) -> int:
        """Return the last non-blank line up to `end`."""
        end = min(end, len(self._lines))
        while end > first and not self._lines[end - 1].strip():
            end -= 1
        return end

    def _add_heading(self, level: int, inline: Any) -> None:
        first = inline.map[0] + 1
        title, mark = self._split_mark(inline.content, first)
        self._begin_section(" ".join(title.split()), mark, level, first)

    def _add_paragraph(self, inline: Any) -> None:
        first = inline.map[0] + 1
        head, _, rest = inline.content.partition("\n")
        shown, mark = self._split_mark(head, first, quiet=True)
        label = _LABEL.fullmatch(shown)
        if label:
            self._begin_section(label[1].strip(), mark, LABEL_LEVEL, first)
        prose = rest if label else inline.content
        if len(prose) > LONGEST_PROSE:
            words = f"a paragraph of {len(prose)} characters: write rows of a list, or link a document"
            self._add_finding("prose", first, words, hint=True)

    def _begin_section(self, title: str, mark: str, level: int, line: int) -> None:
        self._close_sections(level, line)
        self._open.append({"name": normalize_heading(title), "id": mark, "title": title, "level": level, "first": line})

    def _close_sections(self, level: int, line: int) -> None:
        while self._open and self._open[-1]["level"] >= level:
            one = self._open.pop()
            self.sections.append(DocSection(**one, last=self._last_text(one["first"], line - 1)))

    def _open_section(self) -> str:
        return self._open[-1]["name"] if self._open else ""

    def _add_links(self, token: Any) -> None:
        line = token.map[0] + 1
        for child in token.children or ():
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type == "link_open":
                self.links.append(DocLink("", unquote(str(child.attrs["href"])), line, self._open_section()))
            elif child.type == "image":
                self.links.append(DocLink("", unquote(str(child.attrs["src"])), line, self._open_section()))

    def _check_fence(self, token: Any) -> None:
        last = self._lines[token.map[1] - 1].strip(" \t>\r\n") if token.map[1] <= len(self._lines) else ""
        if token.map[1] - token.map[0] < 2 or not last.startswith(token.markup):
            self._add_finding("fence", token.map[0] + 1, "the code that begins here never ends", hint=True)

    def _split_mark(self, text: str, line: int, *, quiet: bool = False) -> tuple[str, str]:
        """Return a text without its mark {#id}, and the id."""
        found = _MARK.search(text)
        if found is None:
            return text, ""
        if not ID.fullmatch(found[1]):
            if not quiet:
                self._add_finding(
                    "bad-id", line, f"{{#{found[1][:40]}}} is not an id: a letter, then letters, digits, _ . or -"
                )
            return text, ""
        return text[: found.start()] + text[found.end() :], found[1]

    def _add_finding(self, code: str, line: int, words: str, *, hint: bool = False) -> None:
        weight = "hint" if hint else "problem"
        self.findings.append(DocFinding(code=code, path=self.path, line=line, message=words, weight=weight))  # type: ignore[arg-type]
