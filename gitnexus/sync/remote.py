"""With whom state is exchanged: which remote, which refs, under which names there, and in which direction."""

import re
from dataclasses import dataclass, replace

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.git import Repo, config, remotes
from gitnexus.git.exchange import listed, shown
from gitnexus.runs.archive import ARCHIVE, LOGS
from gitnexus.runs.ids import BRANCHES
from gitnexus.runs.order import CLAIMS, QUEUE
from gitnexus.state import STATE_REF, State
from gitnexus.state.settings import section

KINDS = ("state", "runs", "archive", "branches")
WIRE_REF = "nexus.wireRef"
MOST = "nexus.syncMaxBytes"
# What hosts that take nothing but branches are told to hold, and where a clone looks by itself.
USUAL_WIRE = "refs/heads/nexus-state"
TRACKING = "refs/nexus-sync/"
_MOST_BYTES = 512 * 2**20
_WAYS = ("both", "pull", "push", "off")
_PREFIX = {"runs": LOGS, "archive": ARCHIVE, "branches": BRANCHES}
# What has another name on a host that takes nothing but branches: below the branch of the state, with this after it.
_WIRED = {"runs": LOGS, "archive": ARCHIVE, "queue": QUEUE, "claims": CLAIMS}


@dataclass(frozen=True, slots=True)
class Wire:
    """One remote: `remote` is what git is given, `name` names it in our refs; `wire` replaces refs/nexus/* there."""

    remote: str
    name: str
    kinds: frozenset[str]
    way: str = "both"
    wire: str = ""
    most: int = _MOST_BYTES

    @property
    def shown(self) -> str:
        """The remote for people."""
        return shown(self.remote)

    @property
    def patterns(self) -> list[str]:
        """What to ask the remote for; the usual branch as well, where nobody said which."""
        found = [self.there(STATE_REF), *([] if self.wire else [USUAL_WIRE])]
        return [*found, *(self.there(_PREFIX[kind]) for kind in KINDS[1:] if kind in self.kinds)]

    def there(self, ref: str) -> str:
        """Return the name that a ref of ours has on the remote."""
        if not self.wire or ref.startswith(BRANCHES):
            return ref
        if ref == STATE_REF:
            return self.wire
        for kind, prefix in _WIRED.items():
            if ref.startswith(prefix):
                return f"{self.wire}-{kind}/{ref.removeprefix(prefix)}"
        return ref

    def here(self, ref: str) -> str:
        """Return our name of a ref of the remote."""
        if ref == self.there(STATE_REF):
            return STATE_REF
        for prefix in _WIRED.values():
            above = self.there(prefix)
            if ref.startswith(above):
                return prefix + ref.removeprefix(above)
        return ref

    def tracking(self, ref: str) -> str:
        """Return where a ref of ours is kept as it was fetched."""
        for kind, prefix in (_PREFIX | _WIRED).items():
            if ref.startswith(prefix):
                return f"{TRACKING}{self.name}/{kind}/{ref.removeprefix(prefix)}"
        return f"{TRACKING}{self.name}/state"

    def on(self, branch: str) -> "Wire":
        """Return the same remote with the state on a branch."""
        return replace(self, wire=branch)

    @property
    def incoming(self) -> str:
        """Where the state is kept until it was judged."""
        return f"{TRACKING}{self.name}/incoming"


def wire_to(state: State, remote: str | None) -> Wire:
    """Return how state is exchanged with a remote: the one named, else origin or the only one. Raises: NotFound."""
    repo = state.repo
    names = remotes.names(repo)
    if remote is None:
        if not names:
            raise NotFound("this repository has no remote to sync with",
                           hint="git remote add NAME URL, or name a path: git nexus sync PATH")  # fmt: skip
        remote = names[0]
    known = remote in names
    if not known and not re.search(r"[/:\\.]", remote):
        raise NotFound(f"there is no remote {remote[:60]!r}", hint=f"there is {', '.join(names)}" if names else None)
    name = remote if known and _is_plain(remote) else f"at-{_mark(remote)}"
    return Wire(
        remote,
        name,
        _kinds(state, remote if known else None),
        _way(repo, remote if known else None),
        _wire_ref(repo, remote if known else None),
        _most(repo),
    )


def ask(repo: Repo, wire: Wire) -> tuple[Wire, dict[str, str]]:
    """Return what a remote has, and the wire as it turns out: where only the usual branch is there, that is it.

    Raises: Unreachable.
    """
    found = listed(repo, wire.remote, wire.patterns)
    if not wire.wire and STATE_REF not in found and USUAL_WIRE in found:
        wire = wire.on(USUAL_WIRE)
        found = listed(repo, wire.remote, wire.patterns)
    return wire, found


def keep_wire(repo: Repo, wire: Wire) -> None:
    """Remember for a remote that it holds the state on a branch."""
    if wire.wire and wire.remote in remotes.names(repo) and config.get(repo, _key(wire.remote, "nexusWireRef")) is None:
        config.put(repo, _key(wire.remote, "nexusWireRef"), wire.wire)


def _key(remote: str, name: str) -> str:
    return f"remote.{remote}.{name}"


def _kinds(state: State, remote: str | None) -> frozenset[str]:
    given = config.get(state.repo, _key(remote, "nexusRefs")) if remote else None
    where = f"git config {remote and _key(remote, 'nexusRefs')}"
    if given is not None:
        words = given.replace(",", " ").split()
    else:
        where = "settings.json: sync.refs"
        value = section(state.latest(), "sync", state.trusts).get("refs", list(KINDS))
        words = value if isinstance(value, list) else [value]
    for word in words:
        if word not in KINDS:
            raise Invalid(f"{where}: {str(word)[:40]!r} is nothing to sync", hint=f"there are {', '.join(KINDS)}")
    return frozenset(map(str, words))


def _way(repo: Repo, remote: str | None) -> str:
    given = (config.get(repo, _key(remote, "nexusSync")) if remote else None) or "both"
    if given not in _WAYS:
        raise Invalid(f"git config remote.{remote}.nexusSync should be one of {', '.join(_WAYS)}")
    return given


def _wire_ref(repo: Repo, remote: str | None) -> str:
    given = (config.get(repo, _key(remote, "nexusWireRef")) if remote else None) or config.get(repo, WIRE_REF) or ""
    if given and not re.fullmatch(r"refs/heads/[A-Za-z0-9][A-Za-z0-9._/-]*", given):
        raise Invalid(f"{WIRE_REF} should name a branch in full", hint=f"such as {USUAL_WIRE}")
    return given


def _most(repo: Repo) -> int:
    given = config.get(repo, MOST)
    if given is None:
        return _MOST_BYTES
    found = re.fullmatch(r"([0-9]{1,15})([kmg]?)", given.strip().lower())
    if found is None:
        raise Invalid(f"git config {MOST} should be a number of bytes, such as 512m")
    return int(found[1]) << 10 * " kmg".index(found[2] or " ")


def _is_plain(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*", name) is not None and not name.endswith(
        ".lock"
    )


def _mark(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
