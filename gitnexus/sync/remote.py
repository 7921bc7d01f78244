"""`Remote`: which git remote state is exchanged with, which refs, and their names there."""

import hashlib
import re
from dataclasses import dataclass, replace

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.git import Repo, config, config_edit, remotes
from gitnexus.git.config_keys import refuse_misspelt_config_keys
from gitnexus.git.exchange import list_remote_refs, remote_without_password
from gitnexus.runs.archive import ARCHIVE, LOGS
from gitnexus.runs.ids import BRANCHES
from gitnexus.runs.order import CLAIMS, QUEUE
from gitnexus.runs.withheld import LOCAL
from gitnexus.state import STATE_REF, State
from gitnexus.state.settings import settings_section

KINDS = ("state", "runs", "archive", "branches")
STATE_BRANCH_KEY = "nexus.wireRef"
MOST = "nexus.syncMaxBytes"
# The state branch for hosts that accept only branches; clones look there by default.
USUAL_STATE_BRANCH = "refs/heads/nexus-state"
TRACKING = "refs/nexus-sync/"
_MOST_BYTES = 512 * 2**20
_WAYS = ("both", "pull", "push", "off")
_PREFIX = {"runs": LOGS, "archive": ARCHIVE, "branches": BRANCHES}
# Refs with another name on such hosts: below the state branch, with this suffix.
_WIRED = {"runs": LOGS, "archive": ARCHIVE, "queue": QUEUE, "claims": CLAIMS}


@dataclass(frozen=True, slots=True)
class Remote:
    """One remote: `remote` is git's argument, `name` its name in our refs; `wire` replaces refs/nexus/* there."""

    remote: str
    name: str
    kinds: frozenset[str]
    way: str = "both"
    state_branch: str = ""
    most: int = _MOST_BYTES

    @property
    def shown(self) -> str:
        """The remote for display."""
        return remote_without_password(self.remote)

    @property
    def patterns(self) -> list[str]:
        """The ref patterns to list; includes the usual state branch if none is configured, and what nobody pushes."""
        found = [self.there(STATE_REF), *([] if self.state_branch else [USUAL_STATE_BRANCH])]
        return [*found, LOCAL, *(self.there(_PREFIX[kind]) for kind in KINDS[1:] if kind in self.kinds)]

    def there(self, ref: str) -> str:
        """Return the name of our ref on the remote."""
        if not self.state_branch or ref.startswith(BRANCHES):
            return ref
        if ref == STATE_REF:
            return self.state_branch
        for kind, prefix in _WIRED.items():
            if ref.startswith(prefix):
                return f"{self.state_branch}-{kind}/{ref.removeprefix(prefix)}"
        return ref

    def here(self, ref: str) -> str:
        """Return our name of a remote's ref."""
        if ref == self.there(STATE_REF):
            return STATE_REF
        for prefix in _WIRED.values():
            above = self.there(prefix)
            if ref.startswith(above):
                return prefix + ref.removeprefix(above)
        return ref

    def tracking_ref(self, ref: str) -> str:
        """Return the tracking ref of our ref."""
        for kind, prefix in (_PREFIX | _WIRED).items():
            if ref.startswith(prefix):
                return f"{TRACKING}{self.name}/{kind}/{ref.removeprefix(prefix)}"
        return f"{TRACKING}{self.name}/state"

    def with_state_branch(self, branch: str) -> "Remote":
        """Return the same remote with the state on a branch."""
        return replace(self, state_branch=branch)

    @property
    def incoming(self) -> str:
        """The ref that holds the fetched state until it is checked."""
        return f"{TRACKING}{self.name}/incoming"


def resolve_remote(state: State, remote: str | None) -> Remote:
    """Return the remote to use: the one named, else origin or the only one. Raises: NotFound."""
    repo = state.repo
    names = remotes.remote_names(repo)
    if remote is None:
        if not names:
            raise NotFound(
                "this repository has no remote to sync with",
                hint="git remote add NAME URL, or name a path: git nexus sync PATH",
            )
        remote = names[0]
    known = remote in names
    if not known and not re.search(r"[/:\\.]", remote):
        raise NotFound(f"there is no remote {remote[:60]!r}", hint=f"there is {', '.join(names)}" if names else None)
    if known:
        refuse_misspelt_config_keys(repo, f"remote.{remote}.")
    refuse_misspelt_config_keys(repo, "nexus.")
    name = remote if known and _is_plain_name(remote) else f"at-{_short_hash(remote)}"
    return Remote(
        remote,
        name,
        _exchanged_kinds(state, remote if known else None),
        _sync_direction(repo, remote if known else None),
        _configured_state_branch(repo, remote if known else None),
        _configured_max_bytes(repo),
    )


def discover_remote_refs(repo: Repo, remote: Remote) -> tuple[Remote, dict[str, str]]:
    """Return the remote and its refs; if only the usual state branch exists there, the remote uses that.

    Raises: Unreachable.
    """
    found = list_remote_refs(repo, remote.remote, remote.patterns)
    if not remote.state_branch and STATE_REF not in found and USUAL_STATE_BRANCH in found:
        remote = remote.with_state_branch(USUAL_STATE_BRANCH)
        found = list_remote_refs(repo, remote.remote, remote.patterns)
    return remote, found


def save_state_branch(repo: Repo, remote: Remote) -> None:
    """Save in the config that a remote holds the state on a branch."""
    if (
        remote.state_branch
        and remote.remote in remotes.remote_names(repo)
        and config.config_value(repo, _config_key(remote.remote, "nexusWireRef")) is None
    ):
        config_edit.set_config_value(repo, _config_key(remote.remote, "nexusWireRef"), remote.state_branch)


def _config_key(remote: str, name: str) -> str:
    return f"remote.{remote}.{name}"


def _exchanged_kinds(state: State, remote: str | None) -> frozenset[str]:
    given = config.config_value(state.repo, _config_key(remote, "nexusRefs")) if remote else None
    where = f"git config {remote and _config_key(remote, 'nexusRefs')}"
    if given is not None:
        words = given.replace(",", " ").split()
    else:
        where = "settings.json: sync.refs"
        value = settings_section(state.latest(), "sync", state.trusts).get("refs", list(KINDS))
        words = value if isinstance(value, list) else [value]
    for word in words:
        if word not in KINDS:
            raise Invalid(f"{where}: {str(word)[:40]!r} is nothing to sync", hint=f"there are {', '.join(KINDS)}")
    return frozenset(map(str, words))


def _sync_direction(repo: Repo, remote: str | None) -> str:
    given = (config.config_value(repo, _config_key(remote, "nexusSync")) if remote else None) or "both"
    if given not in _WAYS:
        raise Invalid(f"git config remote.{remote}.nexusSync should be one of {', '.join(_WAYS)}")
    return given


def _configured_state_branch(repo: Repo, remote: str | None) -> str:
    given = (
        (config.config_value(repo, _config_key(remote, "nexusWireRef")) if remote else None)
        or config.config_value(repo, STATE_BRANCH_KEY)
        or ""
    )
    if given and not re.fullmatch(r"refs/heads/[A-Za-z0-9][A-Za-z0-9._/-]*", given):
        raise Invalid(f"{STATE_BRANCH_KEY} should name a branch in full", hint=f"such as {USUAL_STATE_BRANCH}")
    return given


def _configured_max_bytes(repo: Repo) -> int:
    given = config.config_value(repo, MOST)
    if given is None:
        return _MOST_BYTES
    found = re.fullmatch(r"([0-9]{1,15})([kmg]?)", given.strip().lower())
    if found is None:
        raise Invalid(f"git config {MOST} should be a number of bytes, such as 512m")
    return int(found[1]) << 10 * " kmg".index(found[2] or " ")


def _is_plain_name(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*", name) is not None and not name.endswith(
        ".lock"
    )


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
