"""Finds git config keys of git nexus that nothing reads: a misspelt one would silently not count."""

import re
from typing import NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.base.spelling import closest_word
from gitnexus.base.text import one_line
from gitnexus.git.config import config_rows
from gitnexus.git.discovery import Repo

_KEYS = (
    "nexus.approvalWait",
    "nexus.screenReader",
    "nexus.signingKey",
    "nexus.syncMaxBytes",
    "nexus.syncOnPush",
    "nexus.toolPath",
    "nexus.wireRef",
    "nexus.worktreeDir",
)
_KEYS_OF_REMOTE = ("nexusRefs", "nexusSync", "nexusWireRef")
_KEYS_OF_AGENT = ("modelUrl",)


class UnknownConfigKey(NamedTuple):
    """A key of git nexus that nothing reads, and the one that is most likely meant, empty if none is similar."""

    key: str
    meant: str


def unknown_config_keys(repo: Repo) -> list[UnknownConfigKey]:
    """Return the keys in git's config that begin as ours do and are none of ours."""
    found = dict.fromkeys(key for _, key, _ in config_rows(repo))
    return [UnknownConfigKey(key, meant) for key in found if (meant := _meant_key(key)) is not None]


def refuse_misspelt_config_keys(repo: Repo, beginning: str) -> None:
    """Refuse a key that is spelt almost as one of ours, with this beginning. Raises: Invalid."""
    for key, meant in unknown_config_keys(repo):
        if meant and key.lower().startswith(beginning.lower()):
            raise Invalid(f"git config {one_line(key, 100)} is not known", hint=f"did you mean {meant}?")


def _meant_key(key: str) -> str | None:
    """Return what an unknown key of ours may mean, None for a key that is known or not ours."""
    if key.startswith("nexus."):
        section, _, name = key.rpartition(".")
        if section == "nexus":
            known = _KEYS
            return None if key in map(str.lower, known) else closest_word(key, known)
        return _meant_name(section, name, _KEYS_OF_AGENT)
    remote = re.fullmatch(r"(remote\..+)\.(nexus[^.]*)", key)
    return _meant_name(remote[1], remote[2], _KEYS_OF_REMOTE) if remote else None


def _meant_name(section: str, name: str, known: tuple[str, ...]) -> str | None:
    if name in map(str.lower, known):
        return None
    close = closest_word(name, known)
    return f"{section}.{close}" if close else ""
