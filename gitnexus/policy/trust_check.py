"""The checks of `git nexus doctor` on keys, approvers, signatures and the ledger, and their repair."""

import contextlib
from collections.abc import Generator, Iterator

from gitnexus.base.errors import NexusError, NotFound
from gitnexus.git.child import run_git_or_raise
from gitnexus.git.config import local_config_values, user_config_value
from gitnexus.policy import approvers as chain
from gitnexus.policy.keys import why_key_unusable
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.pins import read_pin
from gitnexus.policy.signed import SignedFiles
from gitnexus.policy.trust import SIGNING_KEY, describe_doubt, signer_for_repo, write_signed_files
from gitnexus.policy.witness import hear_history
from gitnexus.state import STATE_REF, Snapshot, State
from gitnexus.state.format import project_id_of

_MOST = 1000
# check, state, text, hint: one row of the doctor
Row = tuple[str, str, str, str | None]


def check_trust(state: State) -> Iterator[Row]:
    """Yield one row per finding, in order of dependency."""
    own = yield from _check_own_key(state)
    yield from _check_approvers(state, own)
    for path, why in SignedFiles(state.latest(), state.repo.common_dir).untrusted().items():
        yield "signatures", "warning", f"{path} is not in force: {why}", "git nexus policy trust"
    trouble = Ledger(state.repo.common_dir).trouble()
    if trouble is not None and trouble != "there is none yet":
        yield "ledger", "problem", trouble, "all open approvals are void; the next approval starts a new ledger"


def restore_approvers(state: State) -> bool:
    """Restore the approver list that this machine has pinned; False if nothing was changed.

    The pin names the last entry seen, so there is nothing to decide: history has that list or not.
    """
    snapshot, common_dir = state.latest(), state.repo.common_dir
    pin = read_pin(common_dir)
    if pin is None or pin.project != project_id_of(snapshot):
        return False
    try:
        SignedFiles(snapshot, common_dir).approvers()
    except NexusError:
        found = _find_known_approvers(state)
        if found is not None:
            write_signed_files(state, snapshot, {chain.FILE: found}, "approvers: bring back")
        return found is not None
    return False


def _find_known_approvers(state: State) -> bytes | None:
    """Return the newest list in the ref's history that extends the pin."""
    asked = ("log", "--format=%H", f"--max-count={_MOST}", STATE_REF, "--", chain.FILE)
    for commit in run_git_or_raise(*asked, git_dir=state.repo.common_dir).decode().split():
        with contextlib.suppress(NexusError):
            return SignedFiles(Snapshot(state.objects, commit), state.repo.common_dir).approvers().to_bytes()
    return None


def _check_own_key(state: State) -> Generator[Row, None, str]:
    """Yield the problems of the local key; the generator returns its id."""
    if local_config_values(state.repo, f"^{SIGNING_KEY.lower()}$"):
        yield (
            "key",
            "warning",
            f"{SIGNING_KEY} in this repository's own config is ignored",
            f"git config --global {SIGNING_KEY} … is",
        )
    try:
        own = signer_for_repo(state.repo).key_id
        wrong = None if user_config_value(state.repo, SIGNING_KEY) else why_key_unusable()
    except NotFound as exc:
        yield "key", "warning", exc.message, exc.hint
        return ""
    except NexusError as exc:
        yield "key", "problem", exc.message, exc.hint
        return ""
    if wrong is not None:
        yield "key", "problem", wrong[0], wrong[1]
    else:
        yield "key", "ok", f"approver key {own}", None
    return own


def _check_approvers(state: State, own: str) -> Iterator[Row]:
    view = SignedFiles(state.latest(), state.repo.common_dir)
    pin = read_pin(state.repo.common_dir)
    if pin is None:
        words = "this machine does not know the approvers of this project"
        yield "approvers", "warning", words, "git nexus init"
        return
    try:
        found = view.approvers()
    except NexusError as exc:
        yield "approvers", "problem", exc.message, exc.hint
        return
    count = len(found.active)
    yield "approvers", "ok", f"{count} approver{'' if count == 1 else 's'}, the first is {found.root.name}", None
    doubt = describe_doubt(hear_history(state), found.project)
    if doubt:
        yield (
            "approvers",
            "problem",
            doubt,
            "git nexus sync in a clone that has the right list restores it; ask the approvers",
        )
    if not pin.consent:
        words = "what the approvers sign does not count on this machine"
        yield "approvers", "warning", words, "git nexus approver trust, if you know them"
    if own and own not in {one.key for one in found.active}:
        yield (
            "approvers",
            "warning",
            "your key is not an approver here",
            "an approver can add it: git nexus approver add",
        )
