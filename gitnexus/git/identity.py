"""Returns the author name and e-mail address from the user's git config."""

import os
import re
import time

from gitnexus.git import config
from gitnexus.git.child import run_git
from gitnexus.git.discovery import Repo
from gitnexus.git.objects import Author

# The few variables by which people say who they are, or which config file says so.
_WHO = ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
# Git takes other characters away at either end of a name, or makes up one where nothing is left.
_PLAIN = re.compile(r"[\w(+-](?:[^<>\\\n]*[\w)+-])?")
_NOBODY = ("git nexus", "git-nexus@localhost")


def current_author(repo: Repo) -> Author:
    """Return the committer that git would use here, with the current time; a placeholder if git has none configured."""
    # The committer, not the author: in a hook GIT_AUTHOR_* speaks of the commit that is being amended.
    named = {name: os.environ[name] for name in _WHO if name in os.environ}
    plain = _plain_identity(repo, named)
    if plain is not None:
        return Author(*plain, int(time.time()), time.localtime().tm_gmtoff // 60)
    asked = run_git("var", "GIT_COMMITTER_IDENT", git_dir=repo.common_dir, env=named)
    line = asked.stdout.decode("utf-8", "replace").strip() if asked.returncode == 0 else ""
    name, found, rest = line.partition(" <")
    email = rest.partition(">")[0]
    if not found or not name.strip():
        name, email = _NOBODY
    return Author(name.strip(), email, int(time.time()), time.localtime().tm_gmtoff // 60)


def with_current_time(who: Author) -> Author:
    """Return the same person with the current time."""
    return Author(who.name, who.email, int(time.time()), who.offset_minutes)


def _plain_identity(repo: Repo, named: dict[str, str]) -> tuple[str, str] | None:
    """Return the name and address from environment or configuration; None if git has to be asked."""
    if "GIT_CONFIG_GLOBAL" in named or "GIT_CONFIG_SYSTEM" in named:
        return None
    rows = config.config_rows(repo)
    without_system = named.get("GIT_CONFIG_NOSYSTEM", "0")
    if without_system not in ("0", "1") or any(scope == "worktree" for scope, _, _ in rows):
        return None
    settings = {key: value for scope, key, value in rows if scope != "system" or without_system == "0"}
    found = []
    for field in ("name", "email"):
        said = (named.get(f"GIT_COMMITTER_{field.upper()}"), settings.get(f"committer.{field}"))
        values = [value for value in (*said, settings.get(f"user.{field}")) if value is not None]
        if not values or not _PLAIN.fullmatch(values[0]):
            return None
        found.append(values[0])
    return found[0], found[1]
