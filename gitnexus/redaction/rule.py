"""Defines a redaction rule: its name, the words that must occur in a line, its pattern and an example."""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from gitnexus.redaction.shape import (
    beginning_of_shape,
    end_of_shape,
    example_of_shape,
    pattern_of_shape,
    words_of_shape,
)

if TYPE_CHECKING:  # a Protocol takes a millisecond to make, and the git hooks wait for it
    from typing import Protocol

    class Match(Protocol):
        """The common interface of matches of `re` and `re2`."""

        def span(self, group: int = 0, /) -> tuple[int, int]: ...

    class Linear(Protocol):
        """A compiled `re2` pattern for bytes."""

        def search(self, text: bytes, pos: int | None = None, endpos: int | None = None) -> Match | None: ...


# A token begins where a word begins; in output that is also after an escaped line break, a colour or an escaped byte.
START = r"(?:^|[^A-Za-z0-9]|\\[nrtbf]|\[[0-9;]{0,12}m|%[0-9A-Fa-f]{2}|\\u00[0-9A-Fa-f]{2})"
# Between a name and its value: quotes, plain or escaped, and one sign.
ASSIGNED = r"[\"'`\\\]]{0,4}[ \t]{0,4}(?:=>|:=|[=:,])[ \t]{0,4}[\"'`\\]{0,4}"
_JOINTS = ("", "_", "-", ".", " ")
_SAYS_SO = r"(?:key|token|secret|passw|pwd|auth|api|credential|dsn)"
# Whatever is assigned to a name that speaks of secrets; no rule about names and values matches without it.
ASSIGNMENT = (
    r"(?i:key|token|secret|pass|pwd|auth|api|credential|dsn)[\w.\-]{0,20}[\"'`\\\]]{0,4}[ \t]{0,8}(?:=>|:=|[=:,])"
    r"[ \t]{0,8}[\"'`\\]{0,4}[^\x00-\x20\"'`\\<>{}$()]{3}"
)


class SecretRule:
    r"""The pattern's only group, `secret`, is masked; `words` are lower case; `check` rejects false positives.

    Patterns use only what `re` and `re2` interpret alike for bytes: no lookaround, no `\\s`.
    """

    # No dataclass: there are 400 of them, made on the way of every git hook, and frozen ones take thrice as long.
    def __init__(
        self,
        name: str,
        looks: str,
        pieces: tuple[str, str, str] | None = None,
        words: tuple[str, ...] = (),
        regex: str = "",
        vendor: str = "",
        before: str = "",
        check: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.name = name
        self.looks = looks
        self.pieces = pieces
        self.words = words
        self.regex = regex
        self.vendor = vendor
        self.before = before
        self.check = check

    @cached_property
    def pattern(self) -> str:
        if self.regex:
            return self.regex
        secret = f"(?P<secret>{pattern_of_shape(self.looks)}){end_of_shape(self.looks)}"
        if not self.vendor:
            return START + secret
        name = self.vendor.replace("_", r"[_\-. ]?")
        return rf"(?i:(?:{name})[\w.\- ]{{0,30}}{_SAYS_SO}[\w.\-]{{0,12}}){ASSIGNED}{secret}"

    @cached_property
    def keywords(self) -> tuple[str, ...]:
        if self.words:
            return self.words
        if self.vendor:
            words = self.vendor.split("|")
            if "_" not in self.vendor:
                return tuple(words)
            return tuple(dict.fromkeys(word.replace("_", joint) for word in words for joint in _JOINTS))
        return words_of_shape(self.looks)

    @property
    def is_long(self) -> bool:
        """Return True if its matches contain a longer run of letters than any natural word."""
        return not self.regex

    @property
    def filter(self) -> str:
        """A fast pattern for combination with others that matches wherever this rule does."""
        if self.vendor:
            return ASSIGNMENT
        if self.before or self.regex:
            return self.before or "(?i:" + "|".join(re.escape(word) for word in self.words) + ")"
        return START + beginning_of_shape(self.looks)

    @cached_property
    def example_pieces(self) -> tuple[str, str, str]:
        """The example in three pieces: before the secret, the secret, after it."""
        if self.pieces:
            return self.pieces
        before = self.vendor.split("|")[0] + "_api_key = '" if self.vendor else ""
        return before, example_of_shape(self.looks), "'" if self.vendor else ""

    @property
    def example(self) -> str:
        return "".join(self.example_pieces)

    @cached_property
    def plain(self) -> "re.Pattern[bytes]":
        """The pattern for short texts, compiled by the standard library, which is loaded anyway."""
        return re.compile(self.pattern.encode("ascii"))

    @cached_property
    def linear(self) -> "Linear":
        """The pattern for all other texts: always linear in the length of the text."""
        return compile_linear(self.pattern)


def compile_linear(pattern: str) -> "Linear":
    """Return a pattern compiled by re2; each byte is a character."""
    return _compile_re2(pattern.encode("ascii"))


def compile_any_of(words: Iterable[bytes]) -> "Linear":
    """Return a pattern that matches one of the words exactly."""
    return _compile_re2(b"|".join(b"".join(b"\\x%02x" % byte for byte in word) for word in sorted(words)))


def _compile_re2(pattern: bytes) -> "Linear":
    import re2  # 10 ms, and most commands never meet a text that needs it

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20  # the words of all rules at once need more than the usual 8 MiB to stay an automaton
    options.log_errors = False
    compiled: Linear = re2.compile(pattern, options=options)
    return compiled


def token(name: str, looks: str) -> SecretRule:
    """Return the rule for a token that is recognised by its first letters."""
    return SecretRule(name, looks)


def near(name: str, vendor: str, looks: str) -> SecretRule:
    """Return the rule for a value that is secret because of its name; `_` matches any separator."""
    return SecretRule(name, looks, vendor=vendor)


def regexp(
    name: str,
    words: str,
    regex: str,
    pieces: tuple[str, str, str],
    looks: str,
    check: Callable[[bytes], bool] | None = None,
    before: str = "",
) -> SecretRule:
    """Return the rule for a pattern that the shape notation cannot express; `before` filters frequent words."""
    return SecretRule(name, looks, pieces, tuple(words.lower().split()), regex, check=check, before=before)
