"""Writes git config values of a repository. Apart from `config`, so that commands that only read do not load locks."""

from gitnexus.git.config import config_rows
from gitnexus.git.discovery import Repo
from gitnexus.git.locks import config_error, run_on_config

# The status of git config if there is no such key.
_NO_KEY = 5


def set_config_value(repo: Repo, key: str, value: str) -> None:
    """Set one key in this repository's config. Raises: GitFailed."""
    _write_config(repo, "--replace-all", key, value)


def add_config_value(repo: Repo, key: str, value: str) -> None:
    """Add one more value to a key in this repository's config. Raises: GitFailed."""
    _write_config(repo, "--add", key, value)


def unset_config_value(repo: Repo, key: str, value: str) -> None:
    """Remove one value of a key from this repository's config, if it is there. Raises: GitFailed."""
    _write_config(repo, "--fixed-value", "--unset-all", key, value, fine=_NO_KEY)


def unset_config_key(repo: Repo, key: str) -> None:
    """Remove every value of a key from this repository's config, if it is there. Raises: GitFailed."""
    _write_config(repo, "--unset-all", key, fine=_NO_KEY)


def remove_config_section(repo: Repo, section: str) -> None:
    """Remove a section from this repository's config, if it is there. Raises: GitFailed."""
    _write_config(repo, "--remove-section", section, fine=b"no such section")


def _write_config(repo: Repo, *argv: str, fine: bytes | int = 0) -> None:
    """Change the config with the options and words of `git config`; `fine`: a status or words that are no failure."""
    done = run_on_config("config", "--local", *argv, git_dir=repo.common_dir)
    config_rows.cache_clear()
    if done.returncode != 0 and not (done.returncode == fine if isinstance(fine, int) else fine in done.stderr):
        raise config_error(repo.common_dir, done.stderr)
