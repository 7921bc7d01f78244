"""Patterns for paths and command lines. Deny patterns match broadly, allow patterns only what they spell out. Pure."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from gitnexus.base.errors import Invalid
from gitnexus.policy.paths import fold_path, require_plain_path

REST = ("**", "...")
SLOTS = {
    "int": r"[0-9]{1,18}",
    "name": r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}",
    "path": r"(?![-~$/])(?!(?:[^/]*/)*\.{0,2}(?:/|$))[^\x00-\x1f\\:*?]+",
    "text": r"(?!-)[^\x00-\x1f]+",
}
SLOT_WORDS = {
    "int": "digits",
    "name": "one word of letters, digits, `_`, `.` and `-`",
    "path": "a path below the folder of the command, without `..`, `~`, `$` or a leading `/`",
    "text": "any one token that does not begin with `-`",
}
_SLOT = re.compile(r"\{([a-z]+)\}")
_CLASS = re.compile(r"\[(?:\[|!?[^\]\[/\\!^]+)\]")
_ALL = re.compile(r"[*/]+")
_ANYWHERE = "^(?:.+/)?"
FLOATING = "(?:[^/]+/)*"
_ENDING = re.compile(r"\*\.[^*?\[/]+")
# One part, or several with none but a middle one being a lone star.
_PART = r"\*?[a-z0-9_.-]+(?:\*[a-z0-9_.-]+)*\*?"
_USUAL = re.compile(rf"(?:\*\*/)?{_PART}(?:(?:/(?:{_PART}|\*(?=/[^*])))*/{_PART}/?)?")
# More than this would let a crafted path make matching slow.
_MOST_STARS = 6


def require_path_pattern(text: str, where: str) -> str:
    """Return a valid path pattern. Raises: Invalid."""
    require_plain_path(text, where)
    if text.startswith(("!", "#")):
        raise Invalid(
            f"{where}: a pattern cannot begin with {text[0]}", hint="patterns cannot exclude; write what should match"
        )
    if text != text.strip():
        raise Invalid(f"{where}: {text!r} begins or ends with a blank")
    if text.count("*") > _MOST_STARS * 2 or any(part.count("*") > 3 for part in text.split("/")):
        raise Invalid(f"{where}: {text!r} has too many wildcards")
    if any("**" in part and part != "**" for part in text.split("/")):
        raise Invalid(f"{where}: in {text!r} ** should be a part of its own", hint="as in src/**/test.py")
    if "[" in _CLASS.sub("", text) or "]" in _CLASS.sub("", text):
        raise Invalid(f"{where}: {text!r} has a [ that does not begin a plain set of characters")
    try:
        re.compile(narrow_regex(text))
    except re.error as exc:
        raise Invalid(f"{where}: {text!r} has a range that runs backwards") from exc
    return text


def is_everything(pattern: str) -> bool:
    """True for a path pattern that matches everything."""
    return _ALL.fullmatch(pattern) is not None


def is_literal(pattern: str) -> bool:
    """True for a path pattern without a wildcard."""
    return not any(mark in pattern for mark in "*?[")


def narrow_regex(pattern: str) -> str:
    """Return the regular expression of an allow pattern: anchored, and `*` does not cross a slash."""
    parts = pattern.split("/")
    found = ""
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            found += "(?:[^/]+/)*[^/]+" if last else "(?:[^/]+/)*"
        else:
            found += _component_regex(part) + ("" if last else "/")
    return found


def _component_regex(part: str) -> str:
    found, at = "", 0
    while at < len(part):
        if part[at] == "*":
            found += "[^/]*"
        elif part[at] == "?":
            found += "[^/]"
        elif part[at] == "[" and (group := _CLASS.match(part, at)):
            inside = group[0][1:-1]
            found += f"[^/{_escape_ranges(inside[1:])}]" if inside[0] == "!" else f"[{_escape_ranges(inside)}]"
            at = group.end() - 1
        else:
            found += re.escape(part[at])
        at += 1
    return found


def _escape_ranges(inside: str) -> str:
    return "".join(char if char == "-" else re.escape(char) for char in inside)


class NarrowMatcher:
    """Allow patterns as one expression; a path is matched exactly as spelled."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._match = _join_expressions(map(narrow_regex, patterns)).fullmatch

    def first(self, path: str) -> int | None:
        """Return the index of the first matching pattern, or None."""
        found = self._match(path)
        return None if found is None or found.lastindex is None else found.lastindex - 1


class WideMatcher:
    """Deny and ask patterns: like .gitignore, ignoring case and disguises."""

    def __init__(self, patterns: Sequence[str]) -> None:
        # Most patterns are a file name or suffix at any depth: a lookup is cheap.
        self._names: dict[str, int] = {}
        self._endings: dict[str, int] = {}
        floating: dict[int, str] = {}
        fixed: dict[int, str] = {}
        for at, pattern in enumerate(map(fold_path, patterns)):
            name = pattern.removesuffix("/")
            if "/" not in name and is_literal(name):
                self._names.setdefault(name, at)
            elif _ENDING.fullmatch(name):
                self._endings.setdefault(name[1:], at)
            else:
                text = _gitignore_regex(pattern)
                (floating if text.startswith(_ANYWHERE) else fixed)[at] = text.removeprefix(_ANYWHERE)
        # Patterns for any depth are tried once per folder, all together.
        rows = ((fixed, ""), (floating, FLOATING))
        made = [(tuple(group), _join_expressions(group.values(), before)) for group, before in rows if group]
        self._rest = [(numbers, expression.match) for numbers, expression in made]
        self._expressions = [expression.pattern for _, expression in made]

    def parts(self) -> tuple[list[str], list[str], list[str]]:
        """Return the names, the suffixes and the anchored expressions, for folded paths."""
        return list(self._names), list(self._endings), self._expressions

    def first(self, path: str) -> int | None:
        """Return the index of a matching pattern, or None."""
        plain = fold_path(path)
        for part in plain.split("/"):
            if (at := self._names.get(part)) is not None:
                return at
            dot = part.find(".") if self._endings else -1
            while dot >= 0:
                if (at := self._endings.get(part[dot:])) is not None:
                    return at
                dot = part.find(".", dot + 1)
        for numbers, match in self._rest:
            if (found := match(plain)) is not None and found.lastindex is not None:
                return numbers[found.lastindex - 1]
        return None


def _join_expressions(expressions: Iterable[str], before: str = "") -> re.Pattern[str]:
    """Return one expression for many; an empty group at the end of each tells which one matched.

    At the end, because the engine skips a branch by its first letter only if no group precedes it.
    """
    return re.compile(f"{before}(?:" + ("|".join(f"(?:{one})()" for one in expressions) or r"(?!)") + ")")


@lru_cache(maxsize=4096)
def _gitignore_regex(pattern: str) -> str:
    """Return the anchored expression that pathspec makes of a .gitignore line."""
    return _usual_regex(pattern) or _pathspec_regex(pattern)


def _usual_regex(pattern: str) -> str:
    """Return the same for a common pattern, without the 50 ms for pathspec; "" for others."""
    if not _USUAL.fullmatch(pattern):
        return ""
    rest = pattern.removeprefix("**/")
    anchored = "/" in rest and rest == pattern
    parts = rest.removesuffix("/").split("/")
    text = "/".join("[^/]+" if part == "*" else re.escape(part).replace(r"\*", "[^/]*") for part in parts)
    return ("^" if anchored else _ANYWHERE) + text + ("/" if rest.endswith("/") else "(?:/|$)")


def _pathspec_regex(pattern: str) -> str:
    import pathspec  # only needed for such a pattern

    regex = next(iter(pathspec.PathSpec.from_lines("gitignore", [pattern]).patterns)).regex
    if regex is None:
        raise Invalid(f"the pattern {pattern!r} means nothing")
    # Several are joined, so none may name its groups; and `dir/*` reaches all below, as it does in git.
    text = re.sub(r"/\?\$$", "(?:/|$)", re.sub(r"\(\?P<\w+>", "(?:", str(regex.pattern)))
    return text if text.startswith("^") else f".*{text}"


TokenKind = Literal["literal", "one", "slot", "rest"]


class PatternToken:
    """One position of a command pattern."""

    __slots__ = ("kind", "regex", "text")

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.regex: re.Pattern[str] | None = None
        self.kind: TokenKind = "literal"
        if text in REST:
            self.kind = "rest"
        elif text == "*":
            self.kind = "one"
        elif text.startswith("\\"):
            self.text = text[1:]
        elif _SLOT.search(text):
            self.kind, self.regex = "slot", _slot_regex(text, where)
        elif "*" in text:
            raise Invalid(
                f"{where}: a * inside {text!r} is not a wildcard",
                hint=f"* matches one whole token; for a literal one write \\{text}",
            )

    @property
    def is_spelled(self) -> bool:
        """True if the pattern has the word itself, or its option with a typed value as in --jobs={int}."""
        return self.kind == "literal" or (self.kind == "slot" and not self.text.startswith("{"))

    def matches(self, word: str) -> bool:
        """True if `word` matches this position."""
        if self.kind == "literal":
            return word == self.text
        return self.regex is None or self.regex.fullmatch(word) is not None


def _slot_regex(text: str, where: str) -> re.Pattern[str]:
    if "*" in text or len(_SLOT.findall(text)) > 1:
        raise Invalid(f"{where}: {text!r} should hold one slot, and no *")
    before, name, after = _SLOT.split(text)
    if name not in SLOTS:
        raise Invalid(f"{where}: there is no slot {{{name}}}", hint=f"the slots are {', '.join(SLOTS)}")
    return re.compile(re.escape(before) + f"(?:{SLOTS[name]})" + re.escape(after))


class ArgvPattern:
    """A command pattern; `wild` tells which words of a command a wildcard matched."""

    def __init__(self, words: Sequence[str], where: str) -> None:
        if not words or not words[0]:
            raise Invalid(f"{where}: a command pattern needs a program")
        self.words = tuple(words)
        tokens = [PatternToken(word, f"{where}[{at}]") for at, word in enumerate(words)]
        self.open = tokens[-1].kind == "rest"
        self.tokens = tokens[:-1] if self.open else tokens
        if any(token.kind == "rest" for token in self.tokens):
            raise Invalid(f"{where}: {' or '.join(REST)} may only be at the end")
        self._spelled = frozenset(at for at, token in enumerate(self.tokens) if token.is_spelled)

    @property
    def program(self) -> str | None:
        """The program that the pattern names, or None."""
        return self.tokens[0].text if self.tokens and self.tokens[0].kind == "literal" else None

    def matches(self, argv: Sequence[str]) -> bool:
        """True if the pattern matches all of `argv`, word by word."""
        if len(argv) < len(self.tokens) or (len(argv) > len(self.tokens) and not self.open):
            return False
        for token, word in zip(self.tokens, argv, strict=False):  # noqa: SIM110 -- asked for every rule of a program
            if not token.matches(word):
                return False
        return True

    def wild_places(self, argv: Sequence[str]) -> frozenset[int]:
        """Return the positions of `argv` that the pattern does not spell out."""
        return frozenset(range(len(argv))) - self._spelled


def is_literal_word(word: str) -> bool:
    """True if a word of a command pattern has no wildcard."""
    return word not in (*REST, "*") and not _SLOT.search(word) and "*" not in word


def literal_word(word: str) -> str:
    """Return the pattern that matches only `word`."""
    return word if is_literal_word(word) and not word.startswith("\\") else f"\\{word}"
