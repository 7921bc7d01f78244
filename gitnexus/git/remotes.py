"""Remotes: which there are, and what a plain `git fetch` would do to our refs."""

from gitnexus.git import config
from gitnexus.git.discovery import Repo

OURS = "^refs/nexus/*"


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


def _covers(target: str) -> bool:
    prefix = target.partition("*")[0]
    return bool(target) and ("refs/nexus/".startswith(prefix) or prefix.startswith("refs/nexus/"))
