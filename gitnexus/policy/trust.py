"""Sets up the first approver at `init`, lists untrusted files, and signs guarded files that a person has read."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Conflict, Failed
from gitnexus.git import Repo, blob_id
from gitnexus.git.config import user_config_value
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import Approver
from gitnexus.policy.keys import Signer, keys_folder, make_own_key, own_signer
from gitnexus.policy.pins import goes_on_from, newest_signature_times, pins_of_project, read_pin, write_pin
from gitnexus.policy.seen import format_root
from gitnexus.policy.signed import FILE, POLICY, SignedFiles, content_digest, sign_files
from gitnexus.policy.witness import MOST_COMMITS, Testimony, hear_history
from gitnexus.state import Change, Snapshot, State
from gitnexus.state.format import project_id_of

SIGNING_KEY = "nexus.signingKey"
DEFAULT_POLICY = b"""---
version: 1
---

# Policy

What agents may read, write and run in this project. Rules stand above, between the two lines of three dashes; where no
rule speaks, a person is asked. A change of this file counts once an approver has signed it: `git nexus policy trust`.
"""


@dataclass(frozen=True, slots=True)
class UntrustedFile:
    """A guarded file that waits for a signature: its content, and the last signed content."""

    path: str
    why: str
    raw: bytes
    before: bytes | None

    @property
    def digest(self) -> str:
        """The digest of this content."""
        return content_digest(self.raw)


def signer_for_repo(repo: Repo) -> Signer:
    """Return the approver key: that of `nexus.signingKey`, else our own. Raises: NotFound, Failed.

    Reads only the user's config: a repository that brings its own key must not make it the first approver.
    """
    configured = user_config_value(repo, SIGNING_KEY)
    if configured:
        from gitnexus.policy.sshkeys import SshSigner

        return SshSigner(configured)
    return own_signer()


def signer_for_init(repo: Repo) -> tuple[Signer, str | None]:
    """Return the key, created if necessary, and a message about that. Raises: Failed."""
    if user_config_value(repo, SIGNING_KEY):
        return signer_for_repo(repo), None
    try:
        own, made = make_own_key()
    except OSError as exc:
        raise Failed(
            f"your approver key cannot be made: {exc.strerror}: {exc.filename}",
            hint="NEXUS_HOME names another folder; git nexus init --local does without a key",
        ) from exc
    if not made:
        return own, None

    return own, f"created your approver key in {keys_folder()}; keep a copy where only you can read it"


def first_files(repo: Repo, project: str, signer: Signer, name: str, *, policy: bool) -> dict[str, bytes]:
    """Return the files that give a project its first approver and, with `policy`, a signed first policy."""
    files = {chain.FILE: chain.start_chain(project, name, signer, utc_now()).to_bytes()}
    if policy:
        files[POLICY] = DEFAULT_POLICY
        guarded = {POLICY: (DEFAULT_POLICY, blob_id(DEFAULT_POLICY, repo.object_format))}
        files[FILE] = sign_files(None, project, guarded, signer, utc_now())
    return files


def has_policy_file(repo: Repo) -> bool:
    """True if `.nexus/` has a policy that is not on the ref yet."""
    return repo.worktree is not None and (repo.worktree / ".nexus" / POLICY).exists()


def settle_trust(state: State, signer: Signer, *, fresh: bool, begun: bool = False) -> tuple[list[str], list[str]]:
    """Make sure that this clone has a pin of its approvers; return changes and notes. Idempotent.

    `fresh` means that the state was just created or adopted: an older pin is dropped. `begun` means that it was created
    here, so nobody else has written it.
    """
    common_dir = state.repo.common_dir
    known = None if fresh else read_pin(common_dir)
    changes = []
    snapshot = state.required()
    if known is None and snapshot.read(chain.FILE) is None:
        if snapshot.has(chain.FILE):
            return [], ["approvers on the state ref is not a file: git nexus doctor"]
        if pins_of_project(project_id_of(snapshot) or ""):
            return [], [
                "this machine knows approvers of this project, and its state here has none: git nexus sync brings "
                "them; if this is another project that took the same id, you would sign for both"
            ]
        begun = True
        _write_first_approver(state, snapshot, signer)
        changes.append("made you the first approver of this project")
    if known is None:
        from gitnexus.policy.ledger import Ledger  # only the first time

        heard = Testimony() if begun else hear_history(state)
        Ledger(common_dir).begin(utc_now())  # before the pin: who is stopped in between comes here again
        made, notes = _pin_new_clone(state, signer, heard, is_first=begun)
        changes.append(made)
        return changes, notes
    if snapshot.read(chain.FILE) is None or known.project != project_id_of(snapshot):
        return [], ["the approvers that this machine knows for this repository are gone: git nexus doctor"]
    return [], []


def _write_first_approver(state: State, snapshot: Snapshot, signer: Signer) -> None:
    policy = snapshot.read(POLICY) is None and not has_policy_file(state.repo)
    files = first_files(state.repo, project_id_of(snapshot) or "", signer, state.author.name, policy=policy)
    write_signed_files(state, snapshot, files, "approvers: begin")


def _pin_new_clone(state: State, signer: Signer, heard: Testimony, *, is_first: bool) -> tuple[str, list[str]]:
    """Pin the approvers of a new clone; return the change, and doubts about its state."""
    found = SignedFiles(state.required(), state.repo.common_dir).listed()
    mine = found.root.public == signer.public
    others = pins_of_project(found.project)
    behind = not all(goes_on_from(other, found) for other in others)
    doubt = describe_doubt(heard, found.project)
    consent = not behind and not doubt and (mine or any(other.consent for other in others))
    known = newest_signature_times([*(other.signed for other in others), heard.signed])
    write_pin(state.repo.common_dir, found, consent=consent, signed=known)
    notes = [doubt] if doubt else []
    if not (doubt or others or is_first):
        notes.append(f"{_describe_limit(heard)} would look the same. An approver can compare: {format_root(found)}")
    return _describe_pin(found.root, mine=mine, behind=behind, doubt=bool(doubt), consent=consent), notes


def _describe_limit(heard: Testimony) -> str:
    """Return what nothing in a clone can rule out about its state."""
    if heard.heard:
        return (
            "the approvals in the commits vouch for the approvers and the policy up to the last of them: a later "
            "change that was taken back"
        )
    return (
        f"none of the newest {MOST_COMMITS:,} commits says how far the approvers and the policy of this project had "
        "come: an older state that was put back"
    )


def describe_doubt(heard: Testimony, project: str) -> str:
    """Return why a clone's state may not belong to its branches, "" if there is no doubt."""
    if heard.behind:
        return f"this state is older than one that was in force: {heard.behind}"
    if heard.foreign:
        return f"the approvals on the branches here are for project {heard.foreign}, and this is the state of {project}"
    if heard.unheard:
        return f"it cannot be ruled out that this state is older than one that was in force: {heard.unheard}"
    return ""


def _describe_pin(first: Approver, *, mine: bool, behind: bool, doubt: bool, consent: bool) -> str:
    root = f"{first.name} ({first.key})"
    if behind:
        return (
            f"recorded {root} as the first approver here; another clone of yours has seen entries that this list "
            "lacks, so what they sign does not count here before git nexus approver trust"
        )
    if doubt:
        return (
            f"recorded {root} as the first approver here; its commits speak against this state, so what they sign "
            "does not count here before git nexus approver trust"
        )
    if mine:
        return f"recorded your key {first.key} as the first approver here"
    if consent:
        return f"recorded {root} as the first approver here, as in your other clone"
    return (
        f"recorded {root} as the first approver here; what they sign counts on this machine after "
        "git nexus approver trust"
    )


def list_untrusted_files(state: State) -> dict[str, str]:
    """Return the guarded files that do not count, with the reason."""
    return SignedFiles(state.latest(), state.repo.common_dir).untrusted()


def files_to_sign(state: State) -> list[UntrustedFile]:
    """Return the guarded files that wait for a signature, with their content. Raises: Invalid."""
    snapshot = state.required()
    view = SignedFiles(snapshot, state.repo.common_dir)
    found = []
    for path, why in view.untrusted().items():
        found.append(UntrustedFile(path, why, snapshot.read(path) or b"", view.last_trusted(path)))
    return found


def sign_guarded_files(state: State, files: list[UntrustedFile]) -> str:
    """Sign exactly these contents; return the key id. Raises: VerificationFailed, Conflict, Failed."""
    snapshot = state.required()
    view = SignedFiles(snapshot, state.repo.common_dir)
    signer = signer_for_repo(state.repo)
    view.approvers_with_consent().public_of(signer.key_id)
    for file in files:
        if snapshot.read(file.path) != file.raw:
            raise Conflict(f"{file.path} changed while you read it", hint="run the command again")
    guarded = {file.path: (file.raw, blob_id(file.raw, state.repo.object_format)) for file in files}
    names = ", ".join(guarded)
    made = sign_files(snapshot.read(FILE), view.project, guarded, signer, utc_now())
    write_signed_files(state, snapshot, {FILE: made}, f"policy: trust {names}", unchanged=tuple(guarded))
    list_untrusted_files(state)  # record the new signatures in the pin, so that older ones are rejected
    return signer.key_id


def write_signed_files(
    state: State, read: Snapshot, files: Mapping[str, bytes], why: str, *, unchanged: tuple[str, ...] = ()
) -> None:
    """Write files signed before the lock was taken, if nothing they depend on changed. Raises: Conflict."""
    rests_on = {path: read.read(path) for path in (*files, *unchanged, chain.FILE, FILE)}

    def decide(tip: Snapshot) -> Change[None]:
        if project_id_of(tip) != project_id_of(read) or any(tip.read(path) != raw for path, raw in rests_on.items()):
            raise Conflict("the state changed while this was signed", hint="run the command again")
        return Change(files, why, None)

    state.transact(decide)
