"""Parses a reference into its kind, the name it refers to, and the selected part. Nothing is looked up."""

import re
from dataclasses import dataclass
from typing import get_args

from gitnexus.base.errors import Invalid
from gitnexus.base.text import is_utf8_name, one_line
from gitnexus.packs.model import Kind

MOST_REFS = 200
LONGEST = 1000
KINDS: tuple[Kind, ...] = get_args(Kind)
KIND = re.compile(rf"({'|'.join(KINDS)}):")
_LINES = re.compile(r"L(\d{1,7})(?:-L?(\d{1,7}))?")
_GREP = re.compile(r"grep\[([^\]]*)\]:")
_HINT = "file:PATH#L1-L9, doc:PATH#HEADING, grep:WORDS, memory:NAME, task:T1, artifact:RUN/NAME"


@dataclass(frozen=True, slots=True)
class PackReference:
    """`name` is a path, an id, a note or search words; `part` a heading, a folder for grep, or an artifact's name."""

    kind: Kind
    name: str
    part: str = ""
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        """Return the reference as a pack stores it: equal references have equal texts."""
        if self.kind == "grep":
            return f"grep[{self.part}]:{self.name}" if self.part else f"grep:{self.name}"
        if self.kind == "artifact":
            return f"artifact:{self.name}/{self.part}"
        if self.first:
            return f"{self.kind}:{self.name}#L{self.first}-L{self.last}"
        return f"{self.kind}:{self.name}#{self.part}" if self.part else f"{self.kind}:{self.name}"


def parse_reference(text: str) -> PackReference:
    """Return the reference in a text. Raises: Invalid."""
    if not 0 < len(text) <= LONGEST or not is_utf8_name(text) or not text.isprintable():
        raise Invalid(f"{one_line(text, 60)!r} is not a reference: 1 to {LONGEST} printable characters", hint=_HINT)
    if found := _GREP.match(text):
        return _search_reference(text[found.end() :], found[1].strip("/"))
    kind, rest = _split_kind(text)
    if not rest.strip():
        raise Invalid(f"{one_line(text, 60)!r} names nothing", hint=_HINT)
    if kind == "grep":
        return _search_reference(rest, "")
    if kind == "artifact":
        run, _, word = rest.partition("/")
        if not run or not word:
            raise Invalid(f"{one_line(text, 60)!r} should name a run and what it kept", hint="artifact:RUN/NAME")
        return PackReference("artifact", run, word)
    if kind in ("file", "doc"):
        return _file_reference(kind, rest)
    return PackReference(
        kind, _require_name(re.sub(r"(\.md)+$", "", rest) if kind not in ("task", "commit", "cycle") else rest, text)
    )


def parse_references(texts: "tuple[str, ...] | list[str]") -> list[PackReference]:
    """Return the references, each once, in the given order. Raises: Invalid."""
    if len(texts) > MOST_REFS:
        raise Invalid(f"a pack has at most {MOST_REFS} references")
    return list(dict.fromkeys(parse_reference(text) for text in texts))


def _split_kind(text: str) -> tuple[Kind, str]:
    """Return kind and rest; without a kind it is a file or, with a heading, a document."""
    if found := KIND.match(text):
        return next(kind for kind in KINDS if kind == found[1]), text[found.end() :]
    _, mark, part = text.partition("#")
    return ("file" if not mark or _LINES.fullmatch(part) else "doc"), text


def _file_reference(kind: Kind, rest: str) -> PackReference:
    name, _, part = rest.partition("#")
    name = _require_name(re.sub(r"^(\./)+", "", name), rest)
    lines = _LINES.fullmatch(part)
    if lines is None:
        if kind == "file" and part:
            raise Invalid(f"{one_line(rest, 60)!r}: lines of a file are #L10-L20", hint="a heading is for doc:")
        return PackReference(kind, name, part)
    first = int(lines[1])
    last = int(lines[2] or lines[1])
    if not 0 < first <= last:
        raise Invalid(f"{one_line(rest, 60)!r}: lines begin at 1 and do not end before they begin")
    return PackReference(kind, name, "", first, last)


def _require_name(name: str, text: str) -> str:
    if not name.strip():
        raise Invalid(f"{one_line(text, 60)!r} names nothing", hint=_HINT)
    return name


def _search_reference(words: str, below: str) -> PackReference:
    if not words.strip() or len(words) > 200:
        raise Invalid("grep: should be followed by 1 to 200 characters to look for", hint="grep[src]:def main")
    return PackReference("grep", words, below)
