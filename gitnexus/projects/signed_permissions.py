"""The home's permissions count when they are signed: with the person's own key, which is the home's one approver."""

import contextlib
from collections.abc import Iterator, Mapping

from gitnexus.app.trust import Untrusted, signer_for_init, signer_of, written
from gitnexus.base.clock import now
from gitnexus.base.errors import Conflict, NexusError, NotFound, VerificationFailed
from gitnexus.git import blob_id
from gitnexus.policy import approvers as chain
from gitnexus.policy.keys import Signer
from gitnexus.policy.pins import pin, pinned
from gitnexus.policy.signed import FILE, Signed, signed
from gitnexus.projects.grants import PERMISSIONS, is_in_force
from gitnexus.state import Snapshot, State
from gitnexus.state.format import id_of
from gitnexus.state.home import open_home

# How people name the file beside those of a project.
NAME = f"{PERMISSIONS} of the home repository"


def guarded(home: State) -> State:
    """Return the home state with the one who signs its permissions and knows their signatures."""
    home.trusts = lambda snapshot, raw: not _why_not(home, snapshot, raw)
    home.signs = lambda snapshot, raw: _signatures(home, snapshot, raw)
    return home


def unsigned() -> dict[str, str]:
    """Return the permissions of the home by their name with the reason, if they do not count as they are written."""
    with _opened() as home:
        found = _waiting(home) if home is not None else None
        return {NAME: found.why} if found is not None else {}


def waiting() -> list[Untrusted]:
    """Return the permissions of the home, if they wait for a signature. Raises: Invalid."""
    with _opened() as home:
        found = _waiting(home) if home is not None else None
        return [found] if found is not None else []


def trust(file: Untrusted) -> str:
    """Sign exactly this content and return the key's id. A person with a new key becomes the home's approver anew.

    Raises: NotFound, Conflict, Failed, VerificationFailed.
    """
    with _opened() as home:
        if home is None:
            raise NotFound("there is no home repository any more")
        signer, _ = signer_for_init(home.repo)
        _settle(home, signer, anew=True)
        snapshot = home.required()
        if snapshot.read(PERMISSIONS) != file.raw:
            raise Conflict(f"{NAME} changed while you read it", hint="run the command again")
        made = _signed(snapshot, file.raw, signer)
        written(home, snapshot, made, "permissions: trust", unchanged=(PERMISSIONS,))
        _why_not(home, home.required(), file.raw)  # seen from now on: no older one counts again
        return signer.key_id


@contextlib.contextmanager
def _opened() -> Iterator[State | None]:
    home = open_home()
    try:
        yield guarded(home) if home is not None else None
    finally:
        if home is not None:
            home.close()


def _waiting(home: State) -> Untrusted | None:
    snapshot = home.latest()
    raw = snapshot.read(PERMISSIONS)
    if raw is None or is_in_force(snapshot, home.trusts):
        return None
    before = Signed(snapshot, home.repo.common_dir).last_trusted(PERMISSIONS)
    return Untrusted(NAME, _why_not(home, snapshot, raw), raw, before)


def _why_not(home: State, snapshot: Snapshot, raw: bytes) -> str:
    """Return why these bytes do not count, nothing if they do."""
    common_dir = home.repo.common_dir
    with contextlib.suppress(NexusError):
        if pinned(common_dir) is None and snapshot.read(chain.FILE) is not None:
            _settle(home, signer_of(home.repo))  # a home that was moved to another folder, with its key
    return Signed(snapshot, common_dir).standing(PERMISSIONS, raw).why


def _signatures(home: State, snapshot: Snapshot, raw: bytes) -> Mapping[str, bytes]:
    signer, _ = signer_for_init(home.repo)
    _settle(home, signer)
    return _signed(home.required(), raw, signer, snapshot.read(FILE))


def _signed(snapshot: Snapshot, raw: bytes, signer: Signer, before: bytes | None = None) -> dict[str, bytes]:
    files = {PERMISSIONS: (raw, blob_id(raw, "sha1"))}
    return {FILE: signed(before or snapshot.read(FILE), id_of(snapshot) or "", files, signer, now())}


def _settle(home: State, signer: Signer, *, anew: bool = False) -> None:
    """Make sure that the home's approver is this key. Raises: VerificationFailed if it is another, unless `anew`."""
    common_dir, snapshot = home.repo.common_dir, home.required()
    view = Signed(snapshot, common_dir)
    if snapshot.read(chain.FILE) is not None:
        with contextlib.suppress(NexusError):
            found = view.listed()
            if found.root.public == signer.public:
                if anew or pinned(common_dir) is None:
                    pin(common_dir, found, consent=True)
                return
        if not anew:
            raise VerificationFailed(
                "the permissions of your home were signed with another key than the one at hand",
                hint="git nexus policy trust shows them, and takes your key from then on",
            )
    made = chain.founded(view.project, home.author.name, signer, now())
    try:
        written(home, snapshot, {chain.FILE: made.to_bytes()}, "approvers: begin")
    except Conflict:
        _settle(home, signer)  # somebody began at the same moment, with the same key or another
    else:
        pin(common_dir, made, consent=True)
