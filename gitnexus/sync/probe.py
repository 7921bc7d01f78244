"""Whether a host takes refs that are no branches, found out by giving it one for a moment."""

from gitnexus.app.wire import USUAL_WIRE, Wire
from gitnexus.base.chance import token
from gitnexus.git.exchange import Order, pushed
from gitnexus.state import State

_WHERE = "refs/nexus/probe/"


def probed(state: State, wire: Wire) -> tuple[str, bool]:
    """Return what to say of a remote, and whether it takes our refs. Raises: Unreachable."""
    commit, _ = state.objects.write_commit(
        parents=[], changes={".gitignore": b""}, message="probe\n", author=state.author
    )
    ref = f"{_WHERE}{token(12)}"
    given = pushed(state.repo, wire.remote, [Order(ref, commit, "")])[ref]
    if given.kind == "done":
        pushed(state.repo, wire.remote, [Order(ref, None, commit)])
        return f"{wire.shown} takes refs/nexus/*.", True
    key = f"remote.{wire.remote}.nexusWireRef" if wire.name == wire.remote else "nexus.wireRef"
    held = f"; the state goes to {wire.wire} there" if wire.wire else (
        f". git config {key} {USUAL_WIRE} lets the state go as a branch of its own"
    )  # fmt: skip
    return f"{wire.shown} does not take refs/nexus/*: {given.why}{held}", False
