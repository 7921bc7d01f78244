"""Lists the remotes, and protects `refs/nexus/*` from being overwritten by the refspecs of a plain `git fetch`."""

from gitnexus.git import config, config_edit
from gitnexus.git.discovery import Repo

OURS = "^refs/nexus/*"
_HIDDEN = "transfer.hideRefs"


def remote_names(repo: Repo) -> list[str]:
    """Return the remotes of this repository, origin first."""
    found = {
        key.removeprefix("remote.").removesuffix(".url")
        for key in config.local_config_values(repo, r"^remote\..*\.url$")
    }
    return sorted(found, key=lambda name: (name != "origin", name))


def overwriting_remotes(repo: Repo) -> list[str]:
    """Return the remotes from which a plain `git fetch --prune` would overwrite or delete refs/nexus/*."""
    risky = []
    for key, refspecs in config.local_config_values(repo, r"^remote\..*\.fetch$").items():
        targets = [spec.lstrip("+").partition(":")[2] for spec in refspecs if not spec.startswith("^")]
        if OURS not in refspecs and any(_covers_nexus_refs(target) for target in targets):
            risky.append(key.removeprefix("remote.").removesuffix(".fetch"))
    return sorted(risky)


def shield_refs_from_fetch(repo: Repo, remote: str) -> None:
    """Exclude refs/nexus/* from what a plain fetch from `remote` may change."""
    config_edit.add_config_value(repo, f"remote.{remote}.fetch", OURS)


def add_hidden_refs(repo: Repo, prefix: str) -> None:
    """Keep refs below `prefix` from whoever fetches from this repository, or pushes to it."""
    if prefix not in config.local_config_values(repo, r"^transfer\.hiderefs$").get(_HIDDEN.lower(), []):
        config_edit.add_config_value(repo, _HIDDEN, prefix)


def remove_hidden_refs(repo: Repo, prefix: str) -> None:
    """Remove what `add_hidden_refs` wrote."""
    config_edit.unset_config_value(repo, _HIDDEN, prefix)


def unshield_refs_from_fetch(repo: Repo) -> None:
    """Remove our exclusion from every remote."""
    for key in config.local_config_values(repo, r"^remote\..*\.fetch$"):
        config_edit.unset_config_value(repo, key, OURS)


def _covers_nexus_refs(target: str) -> bool:
    prefix = target.partition("*")[0]
    return bool(target) and ("refs/nexus/".startswith(prefix) or prefix.startswith("refs/nexus/"))
