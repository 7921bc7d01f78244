"""Refs of the other end by our own names: asked for, fetched and pushed, whatever they are called there."""

from collections.abc import Iterable, Sequence

from gitnexus.app.wire import USUAL_WIRE, Wire
from gitnexus.git import Repo
from gitnexus.git.exchange import Order, Outcome, fetched, listed, pushed
from gitnexus.state import STATE_REF


def settled(repo: Repo, wire: Wire) -> Wire:
    """Return the wire as it turns out: a host that holds the state on the usual branch holds the queue there too.

    Raises: Unreachable.
    """
    if wire.wire:
        return wire
    found = listed(repo, wire.remote, [STATE_REF, USUAL_WIRE])
    return wire.on(USUAL_WIRE) if STATE_REF not in found and USUAL_WIRE in found else wire


def known(repo: Repo, wire: Wire, refs: Sequence[str]) -> dict[str, str]:
    """Return what the other end has of these refs and of all below those that end with a slash. Raises: Unreachable."""
    found = listed(repo, wire.remote, [wire.there(ref) for ref in refs])
    return {wire.here(ref): oid for ref, oid in found.items()}


def brought(repo: Repo, wire: Wire, refs: Iterable[str]) -> None:
    """Fetch refs to where they are kept until they were looked at. Raises: Unreachable, Failed."""
    fetched(repo, wire.remote, {wire.there(ref): wire.tracking(ref) for ref in refs}, most=wire.most)


def given(repo: Repo, wire: Wire, orders: Sequence[Order], *, atomic: bool = False) -> dict[str, Outcome]:
    """Push what refs of the other end are to become. Raises: Unreachable."""
    named = [one._replace(ref=wire.there(one.ref)) for one in orders]
    found = pushed(repo, wire.remote, named, atomic=atomic)
    return {one.ref: found[wire.there(one.ref)] for one in orders}
