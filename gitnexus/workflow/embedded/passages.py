"""Finds the passages of readable files that best match the terms of a question, and cites them."""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gitnexus.base.text import is_utf8_name, one_line
from gitnexus.memory.search import count_term
from gitnexus.memory.words import fold_text
from gitnexus.packs.lines import is_binary_data, mask_lines
from gitnexus.packs.tree import BaseTree
from gitnexus.workflow.embedded.question import QuestionTerms

Kind = Literal["code", "doc", "memory", "rule", "context", "cycle", "task", "research", "commit"]
LONGEST_QUOTE = 240
MOST_FILES = 30
# Lines around the one that fits best.
_ABOVE, _BELOW = 1, 4
_DOCS = (".md", ".rst", ".txt", ".adoc")
# Written by programs, for programs.
_MADE = re.compile(
    r"(?:^|/)(?:[^/]*\.lock|package-lock\.json|[^/]*\.min\.(?:js|css)|[^/]*\.(?:map|svg|snap|csv|tsv|ipynb|po))$"
)
_LESSER = re.compile(
    r"(?:^|/)(?:tests?|spec|fixtures|testdata|vendor|third_party|node_modules)/|(?:^|/)(?:test_|CHANGELOG)"
)
_DEFINING = (
    r"[ \t]*(?:export\s+|public\s+|private\s+|async\s+|static\s+|pub\s+|default\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|type|const|let|var|val|module|package)\s+"
)
_OWNER = re.compile(r"(?:export\s+|public\s+|default\s+|pub\s+)*(?:class|struct|enum|interface|trait|impl)\s+(\w+)")
# A call in a literal, and what its name belongs to: `Signer.sign(value)` asks about sign.
_NAME_IN_LITERAL = re.compile(r"\(.*\)$|^(?:\w+\.)+")
_DEFINES = re.compile(
    r"\s*(?:export\s+|public\s+|private\s+|async\s+|static\s+|pub\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|type|const|let|var|val|module|package)\s+\w"
    r"|\s*[A-Z_][A-Z0-9_]{2,}\s*(?::[^=]+)?=|#{1,6}\s|[\w.-]+\s*:\s*$"
)

_OPENS_DOC = re.compile(r"\s*[rRbBuU]{0,2}(\"{3}|'{3})")
# How much more the line is worth that defines what was asked about, and one that differs in capital letters.
_DEFINITION, _DEFINITION_BY_SOUND = 8.0, 4.0
_LONGEST_SIGNATURE = 8

# That a file uses something says little about it.
_IMPORTS = re.compile(r"\s*(?:from\s+\S+\s+import|import|use|using|#include|require|export\s+\*)\b")


class Passage(NamedTuple):
    """Lines that match the question. `ref` is a reference that packs can resolve, `held` are the matching terms."""

    kind: Kind
    ref: str
    where: str
    quote: str
    held: frozenset[str]
    score: float
    defines: bool = False


@dataclass(slots=True)
class TermWeights:
    """The weight of each term: the rarer, the higher. Filled while files are searched."""

    asked: QuestionTerms
    # What the question may be about by name, folded, each with its spelling and its term; and where one is defined.
    names: dict[str, tuple[str, str]] = field(init=False)
    definition: re.Pattern[str] | None = field(init=False)
    holding: dict[str, int] = field(default_factory=dict)
    files: int = 0

    def __post_init__(self) -> None:
        said = {word: term for term, word in zip(self.asked.words, self.asked.said, strict=True)}
        told = {_NAME_IN_LITERAL.sub("", one): one for one in self.asked.literals}
        self.names = {name.lower(): (name, term) for name, term in {**said, **told}.items() if name.isidentifier()}
        words = "|".join(
            map(re.escape, [*self.names, *(part for one in self.asked.literals for part in one.split("."))])
        )
        self.definition = re.compile(rf"{_DEFINING}({words})\b", re.IGNORECASE | re.MULTILINE) if words else None

    def defined_term(self, line: str) -> tuple[str, float]:
        """Return the term whose name a line defines, and what that is worth; ("", 0) if it defines none."""
        found = self.definition.match(line) if self.definition else None
        name, term = self.names.get(found[1].lower(), ("", "")) if found else ("", "")
        if found is None or not term:
            return "", 0.0
        return term, _DEFINITION if found[1] == name else _DEFINITION_BY_SOUND

    def members_defined_in(self, text: str, path: str) -> set[str]:
        """Return the names with a dot that a file defines."""
        return {one for one in self.asked.literals if "." in one and self._defines_member(one, text, path)}

    def _defines_member(self, literal: str, text: str, path: str) -> bool:
        """Return True if a file defines a name such as Signer.sign: its last part, and what it belongs to."""
        *owners, name = literal.split(".")
        if not owners or self.definition is None or not name.isidentifier():
            return False
        there = {found[1] for found in self.definition.finditer(text)}
        return name in there and (owners[-1] in there or path.rpartition("/")[2].partition(".")[0] == owners[-1])

    def count_terms(self, low: str, text: str) -> dict[str, int]:
        """Return how often a text contains each term; `low` is the normalised text."""
        found = {term: text.count(term) for term in self.asked.literals if term in text}
        for term in self.asked.words:
            if times := count_term(term, low):
                found[term] = times
        return found

    def weight(self, term: str) -> float:
        """Return the value of one match of a term; an exact match counts double."""
        holding = min(self.holding.get(term, 0), self.files)
        rare = math.log2(1 + (self.files - holding + 0.5) / (holding + 0.5))
        return round(max(rare, 0.1) * (2 if term in self.asked.literals else 1), 3)

    def coverage(self, held: Iterable[str], among: Collection[str] = ()) -> int:
        """Return the matched share of the question, in percent by weight; with `among`, of the terms found anywhere."""
        whole = sum(self.weight(term) for term in self.asked.terms if not among or term in among)
        return round(100 * sum(self.weight(term) for term in set(held)) / whole) if whole else 0


class _FileCandidate(NamedTuple):
    path: str
    size: int
    counts: dict[str, int]


def passages_in_files(base: BaseTree, weighed: TermWeights, most: int) -> list[Passage]:
    """Return the best passages of files, and fill `weighed` with how common each term is."""
    candidates: list[_FileCandidate] = []
    for entry, data in base.texts(""):
        if is_binary_data(data) or _MADE.search(entry.path) or not _can_be_cited(entry.path):
            continue
        weighed.files += 1
        text = data.decode("utf-8", "replace")
        counts = weighed.count_terms(fold_text(text), text)
        counts |= dict.fromkeys(weighed.members_defined_in(text, entry.path), 1)
        named = entry.path in weighed.asked.paths
        for term in counts:
            weighed.holding[term] = weighed.holding.get(term, 0) + 1
        if counts or named:
            candidates.append(_FileCandidate(entry.path, len(data), counts))
    best = sorted(candidates, key=lambda one: (-_file_score(one, weighed), one.path))[:MOST_FILES]
    found = [passage for one in best for passage in _passages_in_file(base, one.path, weighed)]
    return sorted(found, key=lambda one: (-one.score, one.ref))[:most]


def passage_in_text(kind: Kind, ref: str, where: str, lines: Sequence[str], weighed: TermWeights) -> Passage | None:
    """Return the best line of a short text as a passage of the whole; None if nothing matches."""
    whole = "\n".join(lines)
    held = frozenset(weighed.count_terms(fold_text(whole), whole))
    if not held:
        return None
    # A sentence says more than the heading above it.
    rows = [
        (_total_weight(_line_score(line, weighed)[1], weighed), not line.startswith("#"), -at)
        for at, line in enumerate(lines)
    ]
    at = -max(rows)[2]
    return Passage(kind, ref, where, plain_quote(lines[at]), held, _total_weight(held, weighed))


def plain_quote(line: str) -> str:
    """Return a line as it may be quoted in a sentence: without list, heading or docstring marks."""
    plain = " ".join(line.split())
    return one_line(plain.lstrip("#>-* ").removeprefix('"""').removesuffix('"""') or plain, LONGEST_QUOTE)


def _can_be_cited(path: str) -> bool:
    """Return True if a reference can express the path and means exactly this file."""
    return is_utf8_name(path) and path.isprintable() and "#" not in path and len(path) < 800


def _file_score(one: _FileCandidate, weighed: TermWeights) -> float:
    score = sum(weighed.weight(term) * times / (times + 1.5) for term, times in one.counts.items())
    low = fold_text(one.path)
    score += sum(weighed.weight(term) for term in weighed.asked.terms if fold_text(term) in low)
    score += 10 * (one.path in weighed.asked.paths)
    return round(score * (0.7 if _LESSER.search(one.path) else 1.0), 3)


def _passages_in_file(base: BaseTree, path: str, weighed: TermWeights) -> list[Passage]:
    """Return up to two passages of a file, far enough apart to be different."""
    blob = base.read(path)
    if blob is None:
        return []
    lines = mask_lines(blob.data).lines
    owners = _owners_of_lines(lines, path) if any("." in one for one in weighed.asked.literals) else [""] * len(lines)
    rows = [_line_score(line, weighed, owner) for line, owner in zip(lines, owners, strict=True)]
    sums = [_score_with_neighbours(rows, at, weighed) for at in range(len(lines))]
    order = sorted((at for at in range(len(lines)) if rows[at][1]), key=lambda at: (-sums[at], at))
    if not order and path in weighed.asked.paths and lines:
        order, sums[0] = [0], 0.1
    chosen: list[int] = []
    for at in order[:50]:
        apart = all(abs(at - other) > 8 for other in chosen)
        if len(chosen) < 2 and apart and (not chosen or sums[at] >= 0.6 * sums[chosen[0]]):
            chosen.append(at)
    return [_make_passage(path, lines, rows, sums[at], at, weighed) for at in chosen]


def _owners_of_lines(lines: Sequence[str], path: str) -> list[str]:
    """Return for each line the class around it, outside of classes the name of the file."""
    module = path.rpartition("/")[2].partition(".")[0]
    owners, owner = [], module
    for line in lines:
        is_outer = bool(line[:1].strip())
        if is_outer and line[0] not in "#/@)}]":
            begun = _OWNER.match(line)
            owner = begun[1] if begun else module
        owners.append(module if is_outer else owner)
    return owners


def _line_score(line: str, weighed: TermWeights, owner: str = "") -> tuple[float, frozenset[str]]:
    """Return the worth of a line and the terms in it; `owner` is the class or module in which it defines something."""
    held = frozenset(weighed.count_terms(fold_text(line), line))
    term, worth = weighed.defined_term(line)
    if term and ("." not in term or term.split(".")[-2] == owner):
        return _total_weight(held | {term}, weighed) + worth, held | {term}
    if _IMPORTS.match(line):
        return round(0.3 * _total_weight(held, weighed), 3), held
    return _total_weight(held, weighed) + (2.0 if held and _DEFINES.match(line) else 0.0), held


def _score_with_neighbours(rows: Sequence[tuple[float, frozenset[str]]], at: int, weighed: TermWeights) -> float:
    near = frozenset[str]().union(*(rows[one][1] for one in range(max(0, at - 2), min(len(rows), at + 4))))
    return round(rows[at][0] + 0.5 * _total_weight(near - rows[at][1], weighed), 3)


def _make_passage(
    path: str,
    lines: Sequence[str],
    rows: Sequence[tuple[float, frozenset[str]]],
    score: float,
    at: int,
    weighed: TermWeights,
) -> Passage:
    first, last = _lines_to_cite(lines, at)
    held = frozenset[str]().union(*(rows[one][1] for one in range(first, last + 1)))
    held |= {term for term in weighed.asked.terms if fold_text(term) in fold_text(path)}
    kind: Kind = "doc" if path.endswith(_DOCS) else "code"
    defines = _DEFINES.match(lines[at]) is not None
    quote = plain_quote(lines[at])
    if kind == "code" and weighed.defined_term(lines[at])[0]:
        quote, last = _definition_in_words(lines, at, last)
    if defines and kind == "doc":
        quote = " — ".join([quote, *(plain_quote(line) for line in lines[at + 1 : last + 1] if line.strip())][:2])
    ref = f"file:{path}#L{first + 1}-L{last + 1}"
    bonus = (4.0 if path in weighed.asked.paths else 0.0) + _total_weight(held, weighed) * 0.5
    lesser = 0.7 if _LESSER.search(path) else 1.0
    return Passage(kind, ref, f"{path}, line {at + 1}", quote, held, round((score + bonus) * lesser, 3), defines)


def _definition_in_words(lines: Sequence[str], at: int, last: int) -> tuple[str, int]:
    """Return a definition with the first line of its docstring, and the last line to cite."""
    near = lines[at : at + _LONGEST_SIGNATURE]
    end = next((row for row, line in enumerate(near) if line.rstrip().endswith((":", "{", ";"))), 0)
    said = " ".join(line.strip() for line in near[: end + 1]).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    below = next(((row, line) for row, line in enumerate(lines[at + end + 1 : at + end + 3]) if line.strip()), None)
    opened = _OPENS_DOC.match(below[1]) if below else None
    if below is None or opened is None:
        return one_line(said, LONGEST_QUOTE), last
    row = at + end + 1 + below[0]
    doc = [below[1][opened.end() :].strip()]
    while doc[-1] and not doc[-1].endswith((".", opened[1])) and row + len(doc) < len(lines) and len(doc) < 4:
        doc.append(lines[row + len(doc)].strip())
    words = " ".join(doc).removesuffix(opened[1]).strip()
    return one_line(f"{said} — {words}", LONGEST_QUOTE), max(last, row + len(doc) - 1)


def _lines_to_cite(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return the lines to cite around a line, without blank ones at the ends."""
    first, last = max(0, at - _ABOVE), min(len(lines) - 1, at + _BELOW)
    while first < at and not lines[first].strip():
        first += 1
    while last > at and not lines[last].strip():
        last -= 1
    return first, last


def _total_weight(held: Iterable[str], weighed: TermWeights) -> float:
    # In one order always: sums of fractions depend on it.
    return round(sum(weighed.weight(term) for term in sorted(held)), 3)
