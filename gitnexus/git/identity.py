"""Who is at work, as the user's git knows them."""

import os
import time

from gitnexus.git.child import run
from gitnexus.git.discovery import Repo
from gitnexus.git.objects import Author

# The few variables by which people say who they are, or which config file says so.
_WHO = ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_NOBODY = ("git nexus", "git-nexus@localhost")


def author(repo: Repo) -> Author:
    """Return the committer that git would name here, and now; a stand-in where git knows nobody."""
    # The committer, not the author: in a hook GIT_AUTHOR_* speaks of the commit that is being amended.
    named = {name: os.environ[name] for name in _WHO if name in os.environ}
    asked = run("var", "GIT_COMMITTER_IDENT", git_dir=repo.common_dir, env=named)
    line = asked.stdout.decode("utf-8", "replace").strip() if asked.returncode == 0 else ""
    name, found, rest = line.partition(" <")
    email = rest.partition(">")[0]
    if not found or not name.strip():
        name, email = _NOBODY
    return Author(name.strip(), email, int(time.time()), time.localtime().tm_gmtoff // 60)


def again(who: Author) -> Author:
    """Return the same person, now."""
    return Author(who.name, who.email, int(time.time()), who.offset_minutes)
