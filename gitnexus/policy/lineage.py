"""Which commits carried which approval, in a line of history: an approval proves its change once there. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

# Every commit that carries an approval, by `key_of` it: those that lie before the commits that are looked at.
Earlier = Callable[[], Mapping[bytes, tuple[str, ...]]]


class Use(NamedTuple):
    """A change that was proved in both lines that a merge joins: by `commit` in the one that ends at `parent`."""

    commit: str
    parent: str


class Lineage:
    """Fed with commits, parents first. `is_ancestor(older, newer)` is asked only about what lies before them."""

    def __init__(self, earlier: Earlier, is_ancestor: Callable[[str, str], bool]) -> None:
        self._ask_earlier, self._is_ancestor = earlier, is_ancestor
        self._earlier: Mapping[bytes, tuple[str, ...]] | None = None
        self._parents: dict[str, tuple[str, ...]] = {}
        self._uses: dict[bytes, list[str]] = {}
        self._repeated: dict[bytes, None] = {}

    def add(self, commit: str, parents: tuple[str, ...], approvals: Iterable[str]) -> None:
        """Note a commit and the approvals that it carries."""
        self._parents[commit] = parents
        for key in map(key_of, approvals):
            uses = self._uses.setdefault(key, list(self._before_all(key)))
            if commit not in uses:
                uses.append(commit)
            if len(uses) > 1:
                self._repeated[key] = None

    def find_earlier_use(self, parents: tuple[str, ...], approval: str) -> str:
        """Return the commit that carried an approval before one with these parents, empty where none did."""
        key = key_of(approval)
        uses = self._uses.get(key) or self._before_all(key)
        return next((use for use in uses if any(self._reaches(parent, use) for parent in parents)), "")

    def find_joined_uses(self, parents: tuple[str, ...]) -> list[Use]:
        """Return the changes that were proved by one approval in several lines that a merge of `parents` joins."""
        found = []
        self._before_all(b"")
        before = [key for key, uses in (self._earlier or {}).items() if len(uses) > 1]
        for key in dict.fromkeys((*self._repeated, *before)):
            uses_of_it = self._uses.get(key) or self._before_all(key)
            sides = {parent: frozenset(use for use in uses_of_it if self._reaches(parent, use)) for parent in parents}
            if len({uses for uses in sides.values() if uses}) > 1:
                found += [Use(min(uses), parent) for parent, uses in sides.items() if uses]
        return found

    def _before_all(self, key: bytes) -> tuple[str, ...]:
        if self._earlier is None:
            self._earlier = self._ask_earlier()
        return self._earlier.get(key, ())

    def _reaches(self, newer: str, older: str) -> bool:
        """True if `older` is `newer` or comes before it."""
        seen, waiting = {newer}, [newer]
        while waiting:
            commit = waiting.pop()
            if commit == older:
                return True
            above = self._parents.get(commit)
            if above is None:
                # What was looked at does not come before what was not.
                if older not in self._parents and self._is_ancestor(older, commit):
                    return True
                continue
            waiting += [parent for parent in above if parent not in seen]
            seen.update(above)
        return False


def key_of(approval: str) -> bytes:
    """Return the name of what a token says: its claims have one spelling, its signature may have several."""
    import hashlib  # 6 ms, and most commands look at no token

    return hashlib.blake2b(
        approval.split(".")[1].encode() if approval.count(".") == 2 else b"", digest_size=16
    ).digest()
