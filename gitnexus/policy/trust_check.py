"""What the doctor asks of keys, approvers, signatures and the ledger."""

import contextlib
from collections.abc import Generator, Iterator

from gitnexus.app.trust import SIGNING_KEY, describe_doubt, signer_of, written
from gitnexus.app.witness import hear_history
from gitnexus.base.errors import NexusError, NotFound
from gitnexus.git.child import must
from gitnexus.git.config import get_local, of_the_user
from gitnexus.policy import approvers as chain
from gitnexus.policy.keys import why_unusable
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.pins import pinned
from gitnexus.policy.signed import Signed
from gitnexus.state import STATE_REF, Snapshot, State
from gitnexus.state.format import id_of

_MOST = 1000
# check, state, words, hint: a row of the doctor's
Row = tuple[str, str, str, str | None]


def examined(state: State) -> Iterator[Row]:
    """Yield one row a finding, in the order in which things depend on each other."""
    own = yield from _key(state)
    yield from _approvers(state, own)
    for path, why in Signed(state.latest(), state.repo.common_dir).untrusted().items():
        yield "signatures", "warning", f"{path} is not in force: {why}", "git nexus policy trust"
    trouble = Ledger(state.repo.common_dir).trouble()
    if trouble is not None and trouble != "there is none yet":
        yield "ledger", "problem", trouble, "all open approvals are void; the next approval starts a new ledger"


def bring_back(state: State) -> bool:
    """Put the list of approvers back that this machine knows, if the one there is not that; False if nothing was done.

    The pin names the last link that was seen, so there is nothing to decide: history holds that list or does not.
    """
    snapshot, common_dir = state.latest(), state.repo.common_dir
    pin = pinned(common_dir)
    if pin is None or pin.project != id_of(snapshot):
        return False
    try:
        Signed(snapshot, common_dir).approvers()
    except NexusError:
        found = _known_before(state)
        if found is not None:
            written(state, snapshot, {chain.FILE: found}, "approvers: bring back")
        return found is not None
    return False


def _known_before(state: State) -> bytes | None:
    """Return the newest list in the history of the ref that goes on from the pin."""
    asked = ("log", "--format=%H", f"--max-count={_MOST}", STATE_REF, "--", chain.FILE)
    for commit in must(*asked, git_dir=state.repo.common_dir).decode().split():
        with contextlib.suppress(NexusError):
            return Signed(Snapshot(state.objects, commit), state.repo.common_dir).approvers().to_bytes()
    return None


def _key(state: State) -> Generator[Row, None, str]:
    """Yield what is wrong with the key at hand; the generator's value is its id."""
    if get_local(state.repo, f"^{SIGNING_KEY.lower()}$"):
        yield ("key", "warning", f"{SIGNING_KEY} in this repository's own config is not heeded",
               f"git config --global {SIGNING_KEY} … is")  # fmt: skip
    try:
        own = signer_of(state.repo).key_id
        wrong = None if of_the_user(state.repo, SIGNING_KEY) else why_unusable()
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


def _approvers(state: State, own: str) -> Iterator[Row]:
    view = Signed(state.latest(), state.repo.common_dir)
    pin = pinned(state.repo.common_dir)
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
        yield "approvers", "problem", doubt, "git nexus sync where it was right brings it back; ask the approvers"
    if not pin.consent:
        words = "what the approvers sign does not count on this machine"
        yield "approvers", "warning", words, "git nexus approver trust, if you know them"
    if own and own not in {one.key for one in found.active}:
        yield "approvers", "warning", "your key is no approver here", "an approver can add it: git nexus approver add"
