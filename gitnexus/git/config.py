"""Reads git config values of a repository. Values are cached until this process changes them (`config_edit`)."""

import os
import re
from functools import lru_cache

from gitnexus.git.child import run_git
from gitnexus.git.configfile import NotPlain, read_plain_config, read_users_config
from gitnexus.git.discovery import Repo

_OWN_SCOPES = ("local", "worktree")

Row = tuple[str, str, str]


def config_value(repo: Repo, key: str) -> str | None:
    """Return the effective value of a key, or None."""
    return config_value_with_scope(repo, key)[1]


def config_value_with_scope(repo: Repo, key: str) -> tuple[str, str | None]:
    """Return the scope that sets a key, and its value; ("", None) if it is not set."""
    found = [(scope, value) for scope, name, value in config_rows(repo) if name == key.lower()]
    return found[-1] if found else ("", None)


def user_config_value(repo: Repo, key: str) -> str | None:
    """Return the value set by the user or the system, ignoring the repository's own config, which others can write.

    `git -c` would count as the user's too, but no child process inherits it.
    """
    found = [value for scope, name, value in config_rows(repo) if name == key.lower() and scope not in _OWN_SCOPES]
    return found[-1] if found else None


def comment_character(repo: Repo) -> str:
    """Return the comment character of message files, as configured for the git that started this hook."""
    told = {name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG")}
    asked = run_git("config", "--get", "core.commentChar", git_dir=repo.git_dir, env=told, quiet=False)
    found = asked.stdout.decode("utf-8", "replace").strip()
    return found if found and found != "auto" else "#"


def local_config_values(repo: Repo, pattern: str) -> dict[str, list[str]]:
    """Return the keys of this repository's own config that match a regular expression, with their values."""
    found: dict[str, list[str]] = {}
    for scope, key, value in config_rows(repo):
        if scope in _OWN_SCOPES and re.search(pattern, key):
            found.setdefault(key, []).append(value)
    return found


@lru_cache(maxsize=8)
def config_rows(repo: Repo) -> tuple[Row, ...]:
    """Return scope, key and value of every setting; the last row of a key is in force."""
    try:
        own = read_plain_config(repo.common_dir / "config")
        if not any(key.startswith("extensions.") for key, _ in own):
            return (*read_users_config(), *(("local", key, value) for key, value in own))
    except NotPlain:
        pass
    # Not quiet: what we switch off for our own children is not what the user's git does.
    listed = run_git("config", "--list", "--show-scope", "-z", git_dir=repo.git_dir, quiet=False)
    fields = listed.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    pairs = (pair.partition("\n") for pair in fields[1::2])
    return tuple((scope, key, value) for scope, (key, _, value) in zip(fields[::2], pairs, strict=True))
