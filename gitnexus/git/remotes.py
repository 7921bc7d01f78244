"""Remotes: what a plain `git fetch` would do to our refs, and fetching state the way the user's git does it."""

import os

from gitnexus.git import config
from gitnexus.git.child import clean_environment, reason
from gitnexus.git.discovery import Repo

OURS = "^refs/nexus/*"
# How people choose their transport and their config; a hook's GIT_DIR and GIT_INDEX_FILE are not among them.
TRANSPORT = (
    "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_PROXY_COMMAND", "GIT_SSH",
    "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_NO_VERIFY",
)  # fmt: skip


def names(repo: Repo) -> list[str]:
    """Return the remotes of this repository, origin first."""
    found = {key.removeprefix("remote.").removesuffix(".url") for key in config.get_local(repo, r"^remote\..*\.url$")}
    return sorted(found, key=lambda name: (name != "origin", name))


def overwriting(repo: Repo) -> list[str]:
    """Return the remotes from which a plain `git fetch --prune` would overwrite or delete refs/nexus/*."""
    risky = []
    for key, refspecs in config.get_local(repo, r"^remote\..*\.fetch$").items():
        targets = [spec.lstrip("+").partition(":")[2] for spec in refspecs if not spec.startswith("^")]
        if OURS not in refspecs and any(_covers(target) for target in targets):
            risky.append(key.removeprefix("remote.").removesuffix(".fetch"))
    return sorted(risky)


def shield(repo: Repo, remote: str) -> None:
    """Take refs/nexus/* out of what a plain fetch from `remote` may touch."""
    config.add(repo, f"remote.{remote}.fetch", OURS)


def unshield(repo: Repo) -> None:
    """Take our exception out of every remote."""
    for key in config.get_local(repo, r"^remote\..*\.fetch$"):
        config.drop_value(repo, key, OURS)


def fetch(repo: Repo, remote: str, source: str, target: str) -> str | None:
    """Fetch one ref of a remote with the user's own git; return its id, None if the remote has no such ref.

    Raises: GitFailed when the remote cannot be asked.
    """
    from git import Git  # GitPython, 100 ms: only who talks to a remote pays
    from git.exc import GitCommandError

    from gitnexus.git.child import GitFailed

    client = Git(str(repo.place))
    env = {**clean_environment(), **{name: os.environ[name] for name in TRANSPORT if name in os.environ}}
    try:
        listed = client.execute(["git", "ls-remote", "--", remote, source], env=env, kill_after_timeout=20)
        if not str(listed).strip():
            return None
        client.execute(
            ["git", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote, f"+{source}:{target}"],
            env=env,
            kill_after_timeout=120,
        )
    except GitCommandError as exc:
        said = reason(str(exc.stderr).strip().removeprefix("stderr: ").strip("'\n ").encode())
        raise GitFailed(f"{remote} cannot be asked: {said}") from exc
    return str(listed).split()[0]


def _covers(target: str) -> bool:
    prefix = target.partition("*")[0]
    return bool(target) and ("refs/nexus/".startswith(prefix) or prefix.startswith("refs/nexus/"))
