"""Lists, fetches and pushes refs of a remote, translating `refs/nexus/*` to the names used there.

The git config `nexus.wireRef` sets those names.
"""

from collections.abc import Iterable, Sequence

from gitnexus.git import Repo
from gitnexus.git.exchange import PushOutcome, RefUpdate, fetch_remote_refs, list_remote_refs, push_ref_updates
from gitnexus.state import STATE_REF
from gitnexus.sync.remote import USUAL_STATE_BRANCH, Remote


def resolve_state_branch(repo: Repo, remote: Remote) -> Remote:
    """Return the remote; if it holds the state on the usual branch, the queue is below that too.

    Raises: Unreachable.
    """
    if remote.state_branch:
        return remote
    found = list_remote_refs(repo, remote.remote, [STATE_REF, USUAL_STATE_BRANCH])
    return (
        remote.with_state_branch(USUAL_STATE_BRANCH)
        if STATE_REF not in found and USUAL_STATE_BRANCH in found
        else remote
    )


def find_remote_refs(repo: Repo, remote: Remote, refs: Sequence[str]) -> dict[str, str]:
    """Return the remote's values of these refs, and of all below those that end with a slash. Raises: Unreachable."""
    found = list_remote_refs(repo, remote.remote, [remote.there(ref) for ref in refs])
    return {remote.here(ref): oid for ref, oid in found.items()}


def fetch_to_tracking(repo: Repo, remote: Remote, refs: Iterable[str]) -> None:
    """Fetch refs to their tracking refs. Raises: Unreachable, Failed."""
    fetch_remote_refs(
        repo, remote.remote, {remote.there(ref): remote.tracking_ref(ref) for ref in refs}, most=remote.most
    )


def push_to_remote(
    repo: Repo, remote: Remote, orders: Sequence[RefUpdate], *, atomic: bool = False
) -> dict[str, PushOutcome]:
    """Push updates to refs of the remote; return the outcome of each. Raises: Unreachable."""
    named = [one._replace(ref=remote.there(one.ref)) for one in orders]
    found = push_ref_updates(repo, remote.remote, named, atomic=atomic)
    return {one.ref: found[remote.there(one.ref)] for one in orders}
