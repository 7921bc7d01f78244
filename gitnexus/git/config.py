"""A repository's own git config, through git."""

from gitnexus.git.child import must, run
from gitnexus.git.discovery import Repo


def get(repo: Repo, key: str) -> str | None:
    """Return the value in force, or None."""
    asked = run("config", "--get", key, git_dir=repo.common_dir)
    return asked.stdout.decode("utf-8", "replace").rstrip("\n") if asked.returncode == 0 else None


def get_local(repo: Repo, pattern: str) -> dict[str, list[str]]:
    """Return this repository's own keys that match a regular expression, with their values."""
    asked = run("config", "--local", "-z", "--get-regexp", pattern, git_dir=repo.common_dir)
    found: dict[str, list[str]] = {}
    for row in asked.stdout.decode("utf-8", "replace").split("\0"):
        key, newline, value = row.partition("\n")
        if newline:
            found.setdefault(key, []).append(value)
    return found


def put(repo: Repo, key: str, value: str) -> None:
    """Set one key of this repository."""
    must("config", "--local", "--replace-all", key, value, git_dir=repo.common_dir)


def add(repo: Repo, key: str, value: str) -> None:
    """Add one more value to a key of this repository."""
    must("config", "--local", "--add", key, value, git_dir=repo.common_dir)


def drop_value(repo: Repo, key: str, value: str) -> None:
    """Remove one value of a key of this repository, if it is there."""
    run("config", "--local", "--fixed-value", "--unset-all", key, value, git_dir=repo.common_dir)


def drop_section(repo: Repo, section: str) -> None:
    """Remove a section of this repository, if it is there."""
    run("config", "--local", "--remove-section", section, git_dir=repo.common_dir)
