"""A repository's git config, asked for once and remembered until we change it ourselves."""

import os
import re
from functools import lru_cache

from gitnexus.git.child import must, run
from gitnexus.git.configfile import NotPlain, read_plain_config, read_users_config
from gitnexus.git.discovery import Repo

_OWN_SCOPES = ("local", "worktree")

Row = tuple[str, str, str]


def get(repo: Repo, key: str) -> str | None:
    """Return the value in force, or None."""
    return scoped(repo, key)[1]


def scoped(repo: Repo, key: str) -> tuple[str, str | None]:
    """Return the scope that decides a key, and its value; ("", None) if nobody set it."""
    found = [(scope, value) for scope, name, value in rows_of(repo) if name == key.lower()]
    return found[-1] if found else ("", None)


def of_the_user(repo: Repo, key: str) -> str | None:
    """Return the value that the user or the machine set, whatever the repository's own config says: others write that.

    `git -c` is the user's too, but not for us: no child inherits it.
    """
    found = [value for scope, name, value in rows_of(repo) if name == key.lower() and scope not in _OWN_SCOPES]
    return found[-1] if found else None


def comment_character(repo: Repo) -> str:
    """Return what begins a comment in a message file, as the git that started this hook was told."""
    told = {name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG")}
    asked = run("config", "--get", "core.commentChar", git_dir=repo.git_dir, env=told, quiet=False)
    found = asked.stdout.decode("utf-8", "replace").strip()
    return found if found and found != "auto" else "#"


def get_local(repo: Repo, pattern: str) -> dict[str, list[str]]:
    """Return this repository's own keys that match a regular expression, with their values."""
    found: dict[str, list[str]] = {}
    for scope, key, value in rows_of(repo):
        if scope in _OWN_SCOPES and re.search(pattern, key):
            found.setdefault(key, []).append(value)
    return found


def put(repo: Repo, key: str, value: str) -> None:
    """Set one key of this repository."""
    must("config", "--local", "--replace-all", key, value, git_dir=repo.common_dir)
    rows_of.cache_clear()


def add(repo: Repo, key: str, value: str) -> None:
    """Add one more value to a key of this repository."""
    must("config", "--local", "--add", key, value, git_dir=repo.common_dir)
    rows_of.cache_clear()


def drop_value(repo: Repo, key: str, value: str) -> None:
    """Remove one value of a key of this repository, if it is there."""
    run("config", "--local", "--fixed-value", "--unset-all", key, value, git_dir=repo.common_dir)
    rows_of.cache_clear()


def drop_key(repo: Repo, key: str) -> None:
    """Remove every value of a key of this repository, if it is there."""
    run("config", "--local", "--unset-all", key, git_dir=repo.common_dir)
    rows_of.cache_clear()


def drop_section(repo: Repo, section: str) -> None:
    """Remove a section of this repository, if it is there."""
    run("config", "--local", "--remove-section", section, git_dir=repo.common_dir)
    rows_of.cache_clear()


@lru_cache(maxsize=8)
def rows_of(repo: Repo) -> tuple[Row, ...]:
    """Return scope, key and value of all that is set, the last one counts."""
    try:
        own = read_plain_config(repo.common_dir / "config")
        if not any(key.startswith("extensions.") for key, _ in own):
            return (*read_users_config(), *(("local", key, value) for key, value in own))
    except NotPlain:
        pass
    # Not quiet: what we switch off for our own children is not what the user's git does.
    listed = run("config", "--list", "--show-scope", "-z", git_dir=repo.git_dir, quiet=False)
    fields = listed.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    pairs = (pair.partition("\n") for pair in fields[1::2])
    return tuple((scope, key, value) for scope, (key, _, value) in zip(fields[::2], pairs, strict=True))
