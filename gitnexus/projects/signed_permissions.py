"""Verifies and signs the permissions in the user's home with the user's own key, the home's only approver."""

import contextlib
from collections.abc import Iterator, Mapping

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Conflict, NexusError, NotFound, VerificationFailed
from gitnexus.git import blob_id
from gitnexus.policy import approvers as chain
from gitnexus.policy.keys import Signer
from gitnexus.policy.pins import read_pin, write_pin
from gitnexus.policy.signed import FILE, SignedFiles, sign_files
from gitnexus.policy.trust import UntrustedFile, signer_for_init, signer_for_repo, write_signed_files
from gitnexus.projects.grants import PERMISSIONS, is_in_force
from gitnexus.state import Snapshot, State
from gitnexus.state.format import project_id_of
from gitnexus.state.home import open_home

# How people name the file beside those of a project.
NAME = f"{PERMISSIONS} of the home repository"


def guard_home(home: State) -> State:
    """Return the home state with a signer and a verifier for its permissions."""
    home.trusts = lambda snapshot, raw: not _why_untrusted(home, snapshot, raw)
    home.signs = lambda snapshot, raw: _make_signatures(home, snapshot, raw)
    return home


def list_unsigned_permissions() -> dict[str, str]:
    """Return the home's permissions file with the reason, if it does not apply as written."""
    with _open_guarded_home() as home:
        found = _waiting_permissions(home) if home is not None else None
        return {NAME: found.why} if found is not None else {}


def permissions_to_sign() -> list[UntrustedFile]:
    """Return the home's permissions if they need a signature. Raises: Invalid."""
    with _open_guarded_home() as home:
        found = _waiting_permissions(home) if home is not None else None
        return [found] if found is not None else []


def sign_home_permissions(file: UntrustedFile) -> str:
    """Sign exactly this content and return the key's id. With a new key, the user becomes the home's approver again.

    Raises: NotFound, Conflict, Failed, VerificationFailed.
    """
    with _open_guarded_home() as home:
        if home is None:
            raise NotFound("there is no home repository any more")
        signer, _ = signer_for_init(home.repo)
        _settle_approver(home, signer, anew=True)
        snapshot = home.required()
        if snapshot.read(PERMISSIONS) != file.raw:
            raise Conflict(f"{NAME} changed while you read it", hint="run the command again")
        made = _sign_file(snapshot, file.raw, signer)
        write_signed_files(home, snapshot, made, "permissions: trust", unchanged=(PERMISSIONS,))
        _why_untrusted(home, home.required(), file.raw)  # seen from now on: no older one counts again
        return signer.key_id


@contextlib.contextmanager
def _open_guarded_home() -> Iterator[State | None]:
    home = open_home()
    try:
        yield guard_home(home) if home is not None else None
    finally:
        if home is not None:
            home.close()


def _waiting_permissions(home: State) -> UntrustedFile | None:
    snapshot = home.latest()
    raw = snapshot.read(PERMISSIONS)
    if raw is None or is_in_force(snapshot, home.trusts):
        return None
    before = SignedFiles(snapshot, home.repo.common_dir).last_trusted(PERMISSIONS)
    return UntrustedFile(NAME, _why_untrusted(home, snapshot, raw), raw, before)


def _why_untrusted(home: State, snapshot: Snapshot, raw: bytes) -> str:
    """Return why these bytes do not count, empty if they do."""
    common_dir = home.repo.common_dir
    with contextlib.suppress(NexusError):
        if read_pin(common_dir) is None and snapshot.read(chain.FILE) is not None:
            _settle_approver(home, signer_for_repo(home.repo))  # a home that was moved to another folder, with its key
    return SignedFiles(snapshot, common_dir).trust_of(PERMISSIONS, raw).why


def _make_signatures(home: State, snapshot: Snapshot, raw: bytes) -> Mapping[str, bytes]:
    signer, _ = signer_for_init(home.repo)
    _settle_approver(home, signer)
    return _sign_file(home.required(), raw, signer, snapshot.read(FILE))


def _sign_file(snapshot: Snapshot, raw: bytes, signer: Signer, before: bytes | None = None) -> dict[str, bytes]:
    files = {PERMISSIONS: (raw, blob_id(raw, "sha1"))}
    return {FILE: sign_files(before or snapshot.read(FILE), project_id_of(snapshot) or "", files, signer, utc_now())}


def _settle_approver(home: State, signer: Signer, *, anew: bool = False) -> None:
    """Make this key the home's approver. Raises: VerificationFailed if it is another key, unless `anew`."""
    common_dir, snapshot = home.repo.common_dir, home.required()
    view = SignedFiles(snapshot, common_dir)
    if snapshot.read(chain.FILE) is not None:
        with contextlib.suppress(NexusError):
            found = view.listed()
            if found.root.public == signer.public:
                if anew or read_pin(common_dir) is None:
                    write_pin(common_dir, found, consent=True)
                return
        if not anew:
            raise VerificationFailed(
                "the permissions of your home were signed with another key than the available one",
                hint="git nexus policy trust shows them, and takes your key from then on",
            )
    made = chain.start_chain(view.project, home.author.name, signer, utc_now())
    try:
        write_signed_files(home, snapshot, {chain.FILE: made.to_bytes()}, "approvers: begin")
    except Conflict:
        _settle_approver(home, signer)  # somebody began at the same moment, with the same key or another
    else:
        write_pin(common_dir, made, consent=True)
