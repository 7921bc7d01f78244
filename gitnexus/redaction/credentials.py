"""Extracts secret values from environment variables and credential files: by name, passwords in URLs, and keys."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from urllib.parse import unquote, urlsplit

_SECRET_NAME = re.compile(
    r"(?i)token|secret|passw|passphrase|passwd|(?:^|[_.-])(?:pass|pwd|pat|key|auth|jwt|dsn|creds?)(?:$|[_.-])|api_?key|"
    r"private_?key|access_?key|credential|_authtoken|sessionid|webhook|client-key-data"
)
# Names that speak about a secret and do not hold one.
_ABOUT = re.compile(
    r"(?i)(?:file|path|dir|home|host|port|name|user|type|ttl|expiry|expires|length|count|algorithm|sock|url_base)$"
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


def secret_assigned_values(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Return the values of variables with a secret-looking name, and passwords in URLs under any name."""
    for name, value in rows:
        if _SECRET_NAME.search(name) and not _ABOUT.search(name):
            yield value
        yield from _passwords_in_addresses(value)


def _passwords_in_addresses(text: str) -> Iterator[str]:
    for match in _URL.finditer(text):
        try:
            password = urlsplit(match[0]).password
        except ValueError:  # brackets that are no address
            continue
        if password:
            yield from (password, unquote(password))


def secrets_in_file(name: str, text: str) -> Iterator[str]:
    """Return the secrets in the text of a credential file."""
    name = name.rsplit("/", 1)[-1].lower()
    if "netrc" in name:
        words = text.split()
        yield from (after for word, after in pairwise(words) if word in ("password", "account"))
    elif "pgpass" in name:
        lines = (line for line in text.splitlines() if not line.startswith("#"))
        yield from (
            re.split(r"(?<!\\):", line, maxsplit=4)[-1].replace("\\:", ":") for line in lines if line.count(":") >= 4
        )
    else:
        yield from _secrets_in_json(text)
        for pattern in _ASSIGNMENTS:
            yield from secret_assigned_values((match[1], _strip_quotes(match[2])) for match in pattern.finditer(text))
    yield from _passwords_in_addresses(text)
    for match in _BODY_OF_KEY.finditer(text):
        # Each line of a key is one, so that a piece of it is known, too.
        yield from (line for line in match[1].replace("\\n", "\n").split() if len(line) >= 32)


def _secrets_in_json(text: str) -> Iterator[str]:
    if not text.lstrip().startswith(("{", "[")):
        return
    try:
        pending: list[object] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield from secret_assigned_values((str(key), each) for key, each in value.items() if isinstance(each, str))
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _strip_quotes(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
