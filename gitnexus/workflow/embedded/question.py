"""Extracts the terms of a question: exact words, the files it names, and stems of the other words. Pure."""

import re
from bisect import bisect_left
from collections.abc import Collection
from typing import NamedTuple

from gitnexus.memory.words import STOP, fold_text, stems_of_query
from gitnexus.workflow.words import ASKING, FILLERS, QUESTIONS, VERBS

MOST_TERMS = 24
_QUOTED = re.compile(r"`([^`\n]{2,120})`|“([^”\n]{2,120})”|\"([^\"\n]{2,120})\"")
_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
# What people write in no other text than code: snake_case, camelCase, dotted.names, --options, T123.
_NAME = re.compile(
    r"--[a-z][\w-]+|\b[A-Za-z]\w*(?:[._:][A-Za-z_]\w+)+\b|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b"
)
_PATH = re.compile(
    r"(?<![\w/:.@-])\.{0,2}/?(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,9}\b|(?<![\w/:.@-])(?:[\w@.+-]+/)+"
)
_BARE = re.compile(r"(?<![\w/:.@-])[\w@.+/-]*[\w]")
# Where a name of a file may end, and where it may begin: a name with blanks is only one that there is.
_ENDING = re.compile(r"\.[A-Za-z]\w{0,9}\b")
_BEGIN = re.compile(r"(?<![\w/:.@-])[^\s`'\"“„(]")
_LONGEST_NAME = 200
# Files that people call by their title.
_TITLES = re.compile(r"(?<![\w/.])[A-Z]{4,20}(?![\w/.])")
_SCHEME = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
# About the asking itself, or about what every repository has.
_EMPTY = (
    frozenset(word for word, kind in VERBS.items() if kind in ("research", "review"))
    | QUESTIONS
    | ASKING
    | FILLERS
    | frozenset("class function method defined definition".split())
    | frozenset(
        "latest newest best practice practices question answer code codebase file files repository repo project thing "
        "things stuff way ways work works work something anything here this that us we me my it them code der die das "
        "den dem ein eine einen einer und oder mit für von zu im in an auf bei ist sind wird werden nicht auch".split()
    )
)
# What lies outside of any repository.
OUTSIDE = re.compile(
    r"\b(?:latest|newest|current version|state of the art|best practices?|industry|upstream|cve-\d|neuesten?|"
    r"stand der technik|benchmarks? of others|competitors?)\b",
    re.IGNORECASE,
)


class QuestionTerms(NamedTuple):
    """The parts of a question: `literals` are searched exactly, `words` by their stems, `paths` are files."""

    text: str
    literals: tuple[str, ...]
    paths: tuple[str, ...]
    words: tuple[str, ...]
    # The words as they were written, in the order of their stems.
    said: tuple[str, ...] = ()

    def shown(self, term: str) -> str:
        """Return a term as spelled in the question."""
        return dict(zip(self.words, self.said, strict=True)).get(term, term)

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms to search for."""
        return (*self.literals, *self.words)


def parse_question(text: str, known: Collection[str] = ()) -> QuestionTerms:
    """Return the terms of a question; `known` are the existing files."""
    prose = _SCHEME.sub(" ", _FENCE.sub(" ", text))
    spelt = {path: _only_file_called(path, known) for path in [*named_paths(prose, known), *_TITLES.findall(prose)]}
    for given, path in spelt.items():
        if path != given:
            prose = re.sub(rf"(?<![\w/.]){re.escape(given)}(?!\w)", path.replace("\\", "\\\\"), prose)
    paths = named_paths(prose, known)
    quoted = [next(filter(None, found.groups())).strip() for found in _QUOTED.finditer(prose)]
    unnamed = prose
    for one in sorted(paths, key=len, reverse=True):
        unnamed = unnamed.replace(one, " ")
    names = [found[0] for found in _NAME.finditer(unnamed)]
    quoted = [one.removesuffix("()") for one in quoted]
    literals = [one for one in dict.fromkeys([*quoted, *names]) if len(one) > 1 and one not in paths]
    rest = prose
    for one in sorted([*literals, *paths], key=len, reverse=True):
        rest = rest.replace(one, " ")
    stems = {
        stems_of_query(word)[0]: word for word in reversed(_telling_words(rest, bool(literals or paths))[:MOST_TERMS])
    }
    words = dict(reversed(stems.items()))
    return QuestionTerms(text, tuple(literals[:MOST_TERMS]), tuple(paths), tuple(words), tuple(words.values()))


def _only_file_called(name: str, known: Collection[str]) -> str:
    """Return the file that is meant by its name without folders, or by a title such as README; else the name itself."""
    if name in known or "/" in name:
        return name
    found = [path for path in known if path.rpartition("/")[2] == name or path.rpartition(".")[0] == name]
    return found[0] if len(found) == 1 else name


def named_paths(text: str, known: Collection[str]) -> list[str]:
    """Return the files that a text names: existing ones, and words that look like a file name."""
    found = _paths_with_blanks(text, known)
    for one in found:
        text = text.replace(one, " ")
    for match in _PATH.finditer(text):
        path = match[0].removeprefix("./").rstrip(".")
        if path.startswith(("/", "../")) or "//" in path or path in ("e.g", "i.e", "z.B"):
            continue
        if (
            path in known
            or any(one.startswith(path) for one in known if path.endswith("/"))
            or "/" in path.rstrip("/")
            or _has_file_ending(path)
        ):
            found.append(path)
    # Makefile, LICENSE: without an ending a file is only one that there is.
    found += [word for word in _BARE.findall(text) if word in known and (word[:1].isupper() or "/" in word)]
    return list(dict.fromkeys(one for one in found if one))


def _paths_with_blanks(text: str, known: Collection[str]) -> list[str]:
    """Return the existing files with blanks in their names that a text names, longest match first."""
    found: list[str] = []
    for line in text.splitlines():
        begins = [match.start() for match in _BEGIN.finditer(line)]
        for end in (match.end() for match in _ENDING.finditer(line)):
            near = begins[bisect_left(begins, end - _LONGEST_NAME) : bisect_left(begins, end)]
            names = (line[at:end].removeprefix("./") for at in near)
            found += [name for name in names if " " in name and name in known][:1]
    return list(dict.fromkeys(found))


def _has_file_ending(path: str) -> bool:
    """Return True for a name with a usual file extension; `os.path` and `v1.2` have none."""
    stem, _, ending = path.rpartition(".")
    return bool(stem) and ending.lower() in _ENDINGS


def _telling_words(rest: str, more: bool) -> list[str]:
    """Return the significant words; all of them if none is and there is nothing `more` to search for."""
    plain = [word for word in re.findall(r"[^\W_]+", rest) if len(word) > 2 or word.isdigit()]
    # A verb that the request begins with says what to do, not what it is about.
    told = plain[1:] if plain and plain[0].lower() in VERBS and len(plain) > 1 else plain
    content = [word for word in told if not {fold_text(word), word.lower()} & _EMPTY and stems_of_query(word)]
    content = [word for word in content if fold_text(word) not in STOP]
    return content or ([] if more else [word for word in told or plain if stems_of_query(word)])


_ENDINGS = frozenset(
    "py pyi js mjs cjs ts tsx jsx json yaml yml toml ini cfg conf md rst txt c h cc cpp hpp rs go java kt swift rb php "
    "sh bash zsh fish html css scss sql xml csv tsv lock proto baml ipynb cs scala ex exs erl hs lua pl r jl tf mk "
    "gradle dockerfile env adoc tex svg png".split()
)
