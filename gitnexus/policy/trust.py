"""Whose word counts in a project: the first approver at `init`, what is untrusted, and signing what was read."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitnexus.app.witness import MOST_COMMITS, Testimony, hear_history
from gitnexus.base.clock import now
from gitnexus.base.errors import Conflict, Failed
from gitnexus.git import Repo, blob_id
from gitnexus.git.config import of_the_user
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import Approver
from gitnexus.policy.keys import Signer, make_own, own_signer
from gitnexus.policy.pins import elsewhere, goes_on_from, newest, pin, pinned
from gitnexus.policy.seen import format_root
from gitnexus.policy.signed import FILE, POLICY, Signed, digest, signed
from gitnexus.state import Change, Snapshot, State
from gitnexus.state.format import id_of

SIGNING_KEY = "nexus.signingKey"
DEFAULT_POLICY = b"""---
version: 1
---

# Policy

What agents may read, write and run in this project. Rules stand above, between the two lines of three dashes; where no
rule speaks, a person is asked. A change of this file counts once an approver has signed it: `git nexus policy trust`.
"""


@dataclass(frozen=True, slots=True)
class Untrusted:
    """A guarded file that waits for a signature: what it holds, and what was signed last."""

    path: str
    why: str
    raw: bytes
    before: bytes | None

    @property
    def digest(self) -> str:
        """The name of this very content."""
        return digest(self.raw)


def signer_of(repo: Repo) -> Signer:
    """Return the key that approves here: the one that `nexus.signingKey` names, else our own. Raises: NotFound, Failed.

    Only the user's config is asked. A repository that came with a key of its own would make that the first approver.
    """
    configured = of_the_user(repo, SIGNING_KEY)
    if configured:
        from gitnexus.policy.sshkeys import SshSigner

        return SshSigner(configured)
    return own_signer()


def signer_for_init(repo: Repo) -> tuple[Signer, str | None]:
    """Return the key, made if there is none, and what to say of that. Raises: Failed."""
    if of_the_user(repo, SIGNING_KEY):
        return signer_of(repo), None
    try:
        own, made = make_own()
    except OSError as exc:
        raise Failed(
            f"your approver key cannot be made: {exc.strerror}: {exc.filename}",
            hint="NEXUS_HOME names another folder; git nexus init --local does without a key",
        ) from exc
    if not made:
        return own, None
    from gitnexus.policy.keys import keys_folder

    return own, f"made your approver key in {keys_folder()}; keep a copy where only you can read it"


def first_files(repo: Repo, project: str, signer: Signer, name: str, *, policy: bool) -> dict[str, bytes]:
    """Return the files by which a project gets its first approver, and with `policy` a first policy, signed."""
    files = {chain.FILE: chain.founded(project, name, signer, now()).to_bytes()}
    if policy:
        files[POLICY] = DEFAULT_POLICY
        guarded = {POLICY: (DEFAULT_POLICY, blob_id(DEFAULT_POLICY, repo.object_format))}
        files[FILE] = signed(None, project, guarded, signer, now())
    return files


def has_policy_file(repo: Repo) -> bool:
    """True if a policy lies in `.nexus/` that is not on the ref yet."""
    return repo.worktree is not None and (repo.worktree / ".nexus" / POLICY).exists()


def settle_trust(state: State, signer: Signer, *, fresh: bool, begun: bool = False) -> tuple[list[str], list[str]]:
    """Make sure that this clone knows its approvers; return what changed and what to note. Twice is harmless.

    `fresh` where the state began or was adopted just now: what was pinned for another one here is over. `begun` where
    it began here, so that nobody else has written it.
    """
    common_dir = state.repo.common_dir
    known = None if fresh else pinned(common_dir)
    changes = []
    snapshot = state.required()
    if known is None and snapshot.read(chain.FILE) is None:
        if snapshot.has(chain.FILE):
            return [], ["approvers on the state ref is no file: git nexus doctor"]
        if elsewhere(id_of(snapshot) or ""):
            return [], [
                "this machine knows approvers of this project, and its state here has none: git nexus sync brings "
                "them; if this is another project that took the same id, you would sign for both"
            ]
        begun = True
        _found(state, snapshot, signer)
        changes.append("made you the first approver of this project")
    if known is None:
        from gitnexus.policy.ledger import Ledger  # only the first time

        made, notes = _pin(state, signer, Testimony(heard=True) if begun else hear_history(state))
        changes.append(made)
        Ledger(common_dir).begin(now())
        return changes, notes
    if snapshot.read(chain.FILE) is None or known.project != id_of(snapshot):
        return [], ["the approvers that this machine knows for this repository are gone: git nexus doctor"]
    return [], []


def _found(state: State, snapshot: Snapshot, signer: Signer) -> None:
    policy = snapshot.read(POLICY) is None and not has_policy_file(state.repo)
    files = first_files(state.repo, id_of(snapshot) or "", signer, state.author.name, policy=policy)
    written(state, snapshot, files, "approvers: begin")


def _pin(state: State, signer: Signer, heard: Testimony) -> tuple[str, list[str]]:
    """Remember the approvers of a clone that is new here; return what changed, and what speaks against its state."""
    found = Signed(state.required(), state.repo.common_dir).listed()
    mine = found.root.public == signer.public
    others = elsewhere(found.project)
    behind = not all(goes_on_from(other, found) for other in others)
    doubt = describe_doubt(heard, found.project)
    consent = not behind and not doubt and (mine or any(other.consent for other in others))
    known = newest([*(other.signed for other in others), heard.signed])
    pin(state.repo.common_dir, found, consent=consent, signed=known)
    notes = [doubt] if doubt else []
    if not (doubt or others or heard.heard):
        notes.append(
            f"none of the newest {MOST_COMMITS:,} commits says how far the approvers and the policy of this project "
            "had come: an older state that was put back would look the same. An approver can compare: "
            f"{format_root(found)}"
        )
    return _describe_pin(found.root, mine=mine, behind=behind, doubt=bool(doubt), consent=consent), notes


def describe_doubt(heard: Testimony, project: str) -> str:
    """Return why the state of a clone may not be the one that its branches belong to, empty if all was heard."""
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
            f"remembered {root} as the first approver here; another clone of yours has seen entries that this list "
            "lacks, so what they sign does not count here before git nexus approver trust"
        )
    if doubt:
        return (
            f"remembered {root} as the first approver here; its commits speak against this state, so what they sign "
            "does not count here before git nexus approver trust"
        )
    if mine:
        return f"remembered your key {first.key} as the first approver here"
    if consent:
        return f"remembered {root} as the first approver here, as in your other clone"
    return (
        f"remembered {root} as the first approver here; what they sign counts on this machine after "
        "git nexus approver trust"
    )


def untrusted(state: State) -> dict[str, str]:
    """Return the guarded files that do not count now, with the reason."""
    return Signed(state.latest(), state.repo.common_dir).untrusted()


def waiting(state: State) -> list[Untrusted]:
    """Return the guarded files that wait for a signature, with what they hold. Raises: Invalid."""
    snapshot = state.required()
    view = Signed(snapshot, state.repo.common_dir)
    found = []
    for path, why in view.untrusted().items():
        found.append(Untrusted(path, why, snapshot.read(path) or b"", view.last_trusted(path)))
    return found


def trust(state: State, files: list[Untrusted]) -> str:
    """Sign exactly these contents and return the key's id. Raises: VerificationFailed, Conflict, Failed."""
    snapshot = state.required()
    view = Signed(snapshot, state.repo.common_dir)
    signer = signer_of(state.repo)
    view.consented().public_of(signer.key_id)
    for file in files:
        if snapshot.read(file.path) != file.raw:
            raise Conflict(f"{file.path} changed while you read it", hint="run the command again")
    guarded = {file.path: (file.raw, blob_id(file.raw, state.repo.object_format)) for file in files}
    names = ", ".join(guarded)
    made = signed(snapshot.read(FILE), view.project, guarded, signer, now())
    written(state, snapshot, {FILE: made}, f"policy: trust {names}", unchanged=tuple(guarded))
    untrusted(state)  # this machine has seen the new signatures from now on, and takes no older ones
    return signer.key_id


def written(
    state: State, read: Snapshot, files: Mapping[str, bytes], why: str, *, unchanged: tuple[str, ...] = ()
) -> None:
    """Write what was signed before the lock was taken, if all that it rests on is still so. Raises: Conflict."""
    rests_on = {path: read.read(path) for path in (*files, *unchanged, chain.FILE, FILE)}

    def decide(tip: Snapshot) -> Change[None]:
        if id_of(tip) != id_of(read) or any(tip.read(path) != raw for path, raw in rests_on.items()):
            raise Conflict("the state changed while this was signed", hint="run the command again")
        return Change(files, why, None)

    state.transact(decide)
