"""Values that are known to be secret: from the environment, and from the text of credential files."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from gitnexus.redaction.forms import forms_of

_SECRET_NAME = re.compile(
    r"(?i)token|secret|passw|passphrase|passwd|(?:^|[_.-])(?:pass|pwd|pat|key|auth|jwt|dsn|creds?)(?:$|[_.-])|api_?key|"
    r"private_?key|access_?key|credential|_authtoken|sessionid|webhook|client-key-data"
)
# Names that speak about a secret and do not hold one.
_ABOUT = re.compile(
    r"(?i)(?:file|path|dir|home|host|port|name|user|type|ttl|expiry|expires|length|count|algorithm|sock|url_base)$"
)
_NO_SECRET = re.compile(
    r"(?i)(?:[/~.][\w./ ~-]*|[a-z]:\\.*|true|false|yes|no|none|null|on|off|-?[0-9.]{1,11}|[a-z]{1,11})"
)
# A name may hold the sign of the other kind: `//registry.example/:_authToken=…`.
_ASSIGNMENTS = tuple(
    re.compile(
        rf"^[ \t]*(?:export[ \t]+)?[\"']?([^\s\"'{sign}]{{1,200}})[\"']?[ \t]*{sign}[ \t]*(.+?)[ \t]*,?[ \t]*$",
        re.MULTILINE,
    )
    for sign in "=:"
)
_URL = re.compile(r"[A-Za-z][\w+.-]{0,30}://[^\s\"'<>]+")
_BODY_OF_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(.*?)(?:-----END|\Z)", re.DOTALL)
_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class Values:
    """A set of known secrets. Printing it tells how many, not which."""

    _values: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, values: Iterable[str]) -> "Values":
        """Return the values that are long and odd enough to be sought without hiding ordinary words."""
        stripped = (value.strip() for value in values)
        return cls(frozenset(each for each in stripped if len(each) >= _SHORTEST and not _NO_SECRET.fullmatch(each)))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Values":
        """Return the values of the names that look secret, and the passwords of addresses under any name."""
        return cls.of(_assigned(environment.items()))

    @classmethod
    def from_file(cls, name: str, text: str) -> "Values":
        """Return the secrets of a credential file: netrc, .env, ini, npmrc, pgpass, addresses, JSON, YAML, keys."""
        return cls.of(_in_file(name.rsplit("/", 1)[-1].lower(), text))

    def __or__(self, other: "Values") -> "Values":
        return Values(self._values | other._values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def forms(self) -> frozenset[bytes]:
        """Return all values in all forms."""
        return frozenset(form for value in self._values for form in forms_of(value))


def _assigned(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in rows:
        if _SECRET_NAME.search(name) and not _ABOUT.search(name):
            yield value
        yield from _in_addresses(value)


def _in_addresses(text: str) -> Iterator[str]:
    for match in _URL.finditer(text):
        try:
            password = urlsplit(match[0]).password
        except ValueError:  # brackets that are no address
            continue
        if password:
            yield from (password, unquote(password))


def _in_file(name: str, text: str) -> Iterator[str]:
    if "netrc" in name:
        words = text.split()
        yield from (after for word, after in pairwise(words) if word in ("password", "account"))
    elif "pgpass" in name:
        lines = (line for line in text.splitlines() if not line.startswith("#"))
        yield from (
            re.split(r"(?<!\\):", line, maxsplit=4)[-1].replace("\\:", ":") for line in lines if line.count(":") >= 4
        )
    else:
        yield from _in_json(text)
        for pattern in _ASSIGNMENTS:
            yield from _assigned((match[1], _unquoted(match[2])) for match in pattern.finditer(text))
    yield from _in_addresses(text)
    for match in _BODY_OF_KEY.finditer(text):
        # Each line of a key is one, so that a piece of it is known, too.
        yield from (line for line in match[1].replace("\\n", "\n").split() if len(line) >= 32)


def _in_json(text: str) -> Iterator[str]:
    if not text.lstrip().startswith(("{", "[")):
        return
    try:
        pending: list[object] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield from _assigned((str(key), each) for key, each in value.items() if isinstance(each, str))
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
