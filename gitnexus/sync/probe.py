"""Tests whether a remote accepts refs that are not branches, by pushing one and deleting it."""

from gitnexus.base.randomness import random_hex
from gitnexus.git.exchange import RefUpdate, push_ref_updates
from gitnexus.state import State
from gitnexus.sync.remote import USUAL_STATE_BRANCH, Remote

_WHERE = "refs/nexus/probe/"


def probe_remote(state: State, remote: Remote) -> tuple[str, bool]:
    """Return a message about a remote, and whether it accepts our refs. Raises: Unreachable."""
    commit, _ = state.objects.write_commit(
        parents=[], changes={".gitignore": b""}, message="probe\n", author=state.author
    )
    ref = f"{_WHERE}{random_hex(12)}"
    given = push_ref_updates(state.repo, remote.remote, [RefUpdate(ref, commit, "")])[ref]
    if given.kind == "done":
        push_ref_updates(state.repo, remote.remote, [RefUpdate(ref, None, commit)])
        return f"{remote.shown} accepts refs/nexus/*.", True
    key = f"remote.{remote.remote}.nexusWireRef" if remote.name == remote.remote else "nexus.wireRef"
    held = (
        f"; the state goes to {remote.state_branch} there"
        if remote.state_branch
        else (f". git config {key} {USUAL_STATE_BRANCH} lets the state go as a branch of its own")
    )
    return f"{remote.shown} does not accept refs/nexus/*: {given.why}{held}", False
