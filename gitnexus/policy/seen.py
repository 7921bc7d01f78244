"""Encodes how much of the approver chain and the signed files a machine has seen, for tokens and `verify --root`.

Anyone who can write the state ref can restore an old state, signatures included. A statement that an approver signs
elsewhere tells how far the chain had come by then; and one string pins a project for machines that never saw it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.text import one_line

if TYPE_CHECKING:
    from gitnexus.policy.approvers import Approvers
    from gitnexus.policy.pins import Pin

_CHAIN = re.compile(r"(\d{1,5})\.([0-9a-f]{16})", re.ASCII)
_SIGNED = re.compile(r"(\S{1,100}) (\d{4}-\d\d-\d\dT[\d:.]{8,20}Z)", re.ASCII)
_ROOT = re.compile(r"([A-Za-z0-9_-]{1,64})/([1-9]\d{0,4})\.([0-9a-f]{16})/((?:nx|SHA256):\S{1,100})", re.ASCII)
_KEY = re.compile(r"(?:nx|SHA256):\S{1,100}", re.ASCII)
_DIGITS = 16


class SeenChain(NamedTuple):
    """A chain of `length` entries whose last has the digest `head`, and the last signature time of each file."""

    length: int
    head: str
    signed: Mapping[str, str]


class RootPin(NamedTuple):
    """The value of `verify --root`: the first key and, except in the old form, project and an entry of the chain."""

    key: str
    project: str = ""
    length: int = 0
    head: str = ""


def format_statement(pin: "Pin | None", paths: Iterable[str]) -> tuple[str, ...]:
    """Return what a pin knows, for a token: the chain, then each of the files `paths` that was seen signed."""
    if pin is None:
        return ()
    known = (f"{path} {pin.signed[path]}" for path in paths if path in pin.signed)
    return (f"{pin.length}.{pin.head[:_DIGITS]}", *known)


def parse_statement(words: Iterable[str]) -> SeenChain | None:
    """Parse a statement, None for an empty one. Parts in an unknown format are skipped."""
    first, *rest = [*words] or [""]
    chain = _CHAIN.fullmatch(first)
    if chain is None:
        return None
    rows = (_SIGNED.fullmatch(word) for word in rest)
    return SeenChain(int(chain[1]), chain[2], {row[1]: row[2] for row in rows if row is not None})


def is_on_chain(approvers: "Approvers", length: int, head: str) -> bool:
    """True if the chain has an entry with digest `head` at position `length`, so that it extends what was seen."""
    return 0 < length <= len(approvers.entries) and approvers.entries[length - 1].digest()[:_DIGITS] == head[:_DIGITS]


def why_behind(approvers: "Approvers", signed: Mapping[str, str], seen: SeenChain) -> str:
    """Return why a chain, or the files `signed` at these times, is older than a statement; "" if it is not.

    An unsigned file is not checked, because it does not count anyway.
    """
    if seen.length > len(approvers.entries):
        return f"the list of approvers had {seen.length} entries, and has {len(approvers.entries)}"
    if not is_on_chain(approvers, seen.length, seen.head):
        return f"entry {seen.length} of the list of approvers was another one"
    older = [path for path, at in seen.signed.items() if signed.get(path, at) < at]
    return (
        f"{one_line(older[0], 60)} had a version signed {seen.signed[older[0]]}, and has an older one" if older else ""
    )


def format_root(approvers: "Approvers") -> str:
    """Return the string that pins a project: its id, the chain length and the first key."""
    return f"{approvers.project}/{len(approvers.entries)}.{approvers.head[:_DIGITS]}/{approvers.root.key}"


def parse_root(text: str) -> RootPin:
    """Parse the value of `--root`. Raises: Invalid."""
    found = _ROOT.fullmatch(text)
    if found is not None:
        return RootPin(found[4], found[1], int(found[2]), found[3])
    if _KEY.fullmatch(text):
        return RootPin(text)
    raise Invalid(f"{one_line(text, 80)!r} pins no project", hint="git nexus approver list prints the string to give")


def refuse_unpinned(pin: RootPin, approvers: "Approvers") -> None:
    """Raise an error if the approvers are not those of the pinned project. Raises: VerificationFailed."""
    if approvers.root.key != pin.key:
        raise _pin_mismatch_error(f"the first approver is {approvers.root.key}, not the one that --root names")
    if pin.project and approvers.project != pin.project:
        raise _pin_mismatch_error(
            f"this is the state of project {one_line(approvers.project, 64)}, and --root pins {pin.project}"
        )
    if pin.project and not is_on_chain(approvers, pin.length, pin.head):
        raise _pin_mismatch_error(
            f"entry {pin.length} of the list of approvers, which --root names, is missing or another one"
        )


def _pin_mismatch_error(words: str) -> VerificationFailed:
    return VerificationFailed(words, hint="find out who changed the list: git nexus log approvers")
