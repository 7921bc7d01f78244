"""Finds a secret value whose name is on an earlier line: `name: DB_PASSWORD`, then `value: …`."""

import re
from functools import cache

from gitnexus.redaction.rules.named import BY_NAME, NAME, random
from gitnexus.redaction.span import SecretSpan

_PLACE = rb"(?:[\w./@-]{1,200}[:-][0-9]{1,7}[:-])?[ \t+>-]{0,80}"
# The end of a line that names a secret and leaves its value to a later line.
NAME_ENDS_LINE = (
    rf"(?i:{NAME})[\"'\\]{{0,4}}(?:</[\w.:-]{{1,20}}>|[ \t]{{0,8}}(?:=>|:=|[=:,>])?[ \t]{{0,8}}[|>({{\[\\]?[+-]?)"
    r"[ \t\r\\]{0,4}"
)
_VALUE = (
    _PLACE + rb"(?P<key>[\"'<]?(?i:\w{0,20}value|default|string|data)[\"']?[ \t]{0,8}[:=>][ \t]{0,8})?(?:[bru]?[\"'`])?"
    rb"(?P<secret>[A-Za-z0-9+/=_.~:|!@#%^*?-]{16,})[\"'`]?[,;)]{0,2}(?:</[\w.:-]{1,20}>)?[ \t\r\\]{0,8}\Z"
)
# The value is on the next line; or a little further down, if a word marks it as one.
_FURTHEST = 3
_LONGEST_END = 160


class Above:
    """The names of secrets on earlier lines. Pass it every line from the first that names a secret."""

    def __init__(self) -> None:
        self.expects = 0

    def spans(self, line: bytes) -> list[SecretSpan]:
        """Return the secret on a line that an earlier line named, and remember the names on this line."""
        expects, self.expects = self.expects, max(0, self.expects - 1)
        found = _value().match(line) if expects else None
        if _names().search(line[-_LONGEST_END:]):
            self.expects = _FURTHEST
        if found is None or not (found["key"] or expects == _FURTHEST) or not random(found["secret"]):
            return []
        return [SecretSpan(found.start("secret"), found.end("secret"), BY_NAME)]


@cache
def _names() -> re.Pattern[bytes]:
    # Compiled where a text holds the word of a rule at all: a git hook waits for every pattern.
    return re.compile(NAME_ENDS_LINE.encode("ascii") + rb"\Z")


@cache
def _value() -> re.Pattern[bytes]:
    return re.compile(_VALUE)
