"""Runs a transaction on the home state that leaves the permissions signed; never signs another person's edit."""

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from gitnexus.base.errors import Busy, NexusError, VerificationFailed
from gitnexus.base.randomness import random_fraction
from gitnexus.git.objects import BlobId
from gitnexus.projects.grants import PERMISSIONS, is_in_force
from gitnexus.state import Change, Snapshot, State

T = TypeVar("T")
# As long as any other writer waits for its turn.
_DEADLINE = 30.0


class _Meanwhile(Exception):
    """The content that was signed differs from what would be written now."""


def transact_keeping_signature(home: State, decide: Callable[[Snapshot], Change[T]]) -> T:
    """Run the transaction of `decide`. Permissions that were in force stay signed, if the key is available.

    Raises: Busy, and whatever `decide` raises.
    """
    return _transact_with(home, decide, _keep_signature)


def transact_with_signature(home: State, decide: Callable[[Snapshot], Change[T]]) -> T:
    """Run a transaction that changes permissions on purpose: it is signed, or nothing is written.

    Raises: VerificationFailed for permissions that somebody else wrote, Failed without a key, Busy.
    """
    return _transact_with(home, decide, _require_signature)


def _transact_with(
    home: State,
    decide: Callable[[Snapshot], Change[T]],
    signature: Callable[[State, Snapshot, bytes], Mapping[str, bytes]],
) -> T:
    deadline = time.monotonic() + _DEADLINE
    while time.monotonic() < deadline:
        before = home.latest()
        wanted = decide(before).files.get(PERMISSIONS)
        raw = before.blob(wanted) if isinstance(wanted, BlobId) else wanted
        # Signed before the lock is taken: a key may lie in an agent that asks its person.
        beside = signature(home, before, raw) if raw is not None else {}

        def checked(tip: Snapshot, raw: bytes | None = raw, beside: Mapping[str, bytes] = beside) -> Change[T]:
            change = decide(tip)
            if change.files.get(PERMISSIONS) != raw or not _is_same_base(before, tip, beside):  # noqa: B023 -- used at once
                raise _Meanwhile
            return Change({**change.files, **beside}, change.why, change.value)

        with contextlib.suppress(_Meanwhile):
            return home.transact(checked)
        time.sleep(0.05 * random_fraction())
    raise Busy("other processes kept changing the permissions", hint="run the command again")


def _is_same_base(before: Snapshot, tip: Snapshot, beside: Mapping[str, bytes]) -> bool:
    return not beside or all(before.read(path) == tip.read(path) for path in (PERMISSIONS, *beside))


def _require_signature(home: State, before: Snapshot, raw: bytes) -> Mapping[str, bytes]:
    if not is_in_force(before, home.trusts):
        raise VerificationFailed(
            f"{PERMISSIONS} of the home repository is not as you signed it, and would be signed as a whole",
            hint="git nexus policy trust shows what is in it, and signs it",
            fix="git nexus permissions --list",
        )
    return home.signs(before, raw) if home.signs is not None else {}


def _keep_signature(home: State, before: Snapshot, raw: bytes) -> Mapping[str, bytes]:
    if home.signs is None or not is_in_force(before, home.trusts):
        return {}
    with contextlib.suppress(NexusError):  # without the key nothing counts as more than reading, and status tells
        return home.signs(before, raw)
    return {}
