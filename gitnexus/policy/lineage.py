"""Tracks which commits used which approval along a line of history: an approval proves its change once. Pure."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

# Every commit that carries an approval, by `key_of` it: those that lie before the commits that are looked at.
Earlier = Callable[[], Mapping[bytes, tuple[str, ...]]]


class ApprovalUse(NamedTuple):
    """A change proved on both sides of a merge: by `commit` on the side that ends at `parent`."""

    commit: str
    parent: str


class Lineage:
    """Takes commits, parents first. `is_ancestor(older, newer)` is called only for earlier commits."""

    def __init__(self, earlier: Earlier, is_ancestor: Callable[[str, str], bool]) -> None:
        self._ask_earlier, self._is_ancestor = earlier, is_ancestor
        self._earlier: Mapping[bytes, tuple[str, ...]] | None = None
        self._parents: dict[str, tuple[str, ...]] = {}
        self._uses: dict[bytes, list[str]] = {}
        self._repeated: dict[bytes, None] = {}

    def add(self, commit: str, parents: tuple[str, ...], approvals: Iterable[str]) -> None:
        """Add a commit and its approvals."""
        self._parents[commit] = parents
        for key in map(approval_key, approvals):
            uses = self._uses.setdefault(key, list(self._earlier_uses(key)))
            if commit not in uses:
                uses.append(commit)
            if len(uses) > 1:
                self._repeated[key] = None

    def find_earlier_use(self, parents: tuple[str, ...], approval: str) -> str:
        """Return the earlier commit that used an approval before a commit with these parents, "" if none."""
        key = approval_key(approval)
        uses = self._uses.get(key) or self._earlier_uses(key)
        return next((use for use in uses if any(self._is_reachable(parent, use) for parent in parents)), "")

    def find_joined_uses(self, parents: tuple[str, ...]) -> list[ApprovalUse]:
        """Return changes proved by the same approval on several sides of a merge of `parents`."""
        found = []
        self._earlier_uses(b"")
        before = [key for key, uses in (self._earlier or {}).items() if len(uses) > 1]
        for key in dict.fromkeys((*self._repeated, *before)):
            uses_of_it = self._uses.get(key) or self._earlier_uses(key)
            sides = {
                parent: frozenset(use for use in uses_of_it if self._is_reachable(parent, use)) for parent in parents
            }
            if len({uses for uses in sides.values() if uses}) > 1:
                found += [ApprovalUse(min(uses), parent) for parent, uses in sides.items() if uses]
        return found

    def _earlier_uses(self, key: bytes) -> tuple[str, ...]:
        if self._earlier is None:
            self._earlier = self._ask_earlier()
        return self._earlier.get(key, ())

    def _is_reachable(self, newer: str, older: str) -> bool:
        """True if `older` is `newer` or an ancestor of it."""
        seen, waiting = {newer}, [newer]
        while waiting:
            commit = waiting.pop()
            if commit == older:
                return True
            above = self._parents.get(commit)
            if above is None:
                # A commit in the range is never an ancestor of one outside it.
                if older not in self._parents and self._is_ancestor(older, commit):
                    return True
                continue
            waiting += [parent for parent in above if parent not in seen]
            seen.update(above)
        return False


def approval_key(approval: str) -> bytes:
    """Return a key of a token's claims, which have one encoding; its signature may have several."""
    return hashlib.blake2b(
        approval.split(".")[1].encode() if approval.count(".") == 2 else b"", digest_size=16
    ).digest()
