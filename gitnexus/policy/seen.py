"""How far a machine knows the chain of approvers and the signed files, in words that travel outside of the state.

Whoever can write the state ref can put an old state back, signatures and all. What an approver signs elsewhere says how
far things had come by then; and one string pins a project for machines that never saw it.
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


class Seen(NamedTuple):
    """A chain of `length` links whose last one has the digest `head`, and when each file was signed last."""

    length: int
    head: str
    signed: Mapping[str, str]


class RootPin(NamedTuple):
    """What `verify --root` names: the first key; unless it is of the old form, also project and a link of the chain."""

    key: str
    project: str = ""
    length: int = 0
    head: str = ""


def statement_of(pin: "Pin | None", paths: Iterable[str]) -> tuple[str, ...]:
    """Return what a pin knows as a token says it: the chain, then each of the files `paths` that was seen signed."""
    if pin is None:
        return ()
    known = (f"{path} {pin.signed[path]}" for path in paths if path in pin.signed)
    return (f"{pin.length}.{pin.head[:_DIGITS]}", *known)


def parse_statement(words: Iterable[str]) -> Seen | None:
    """Return what a statement says, None for one that says nothing. Parts of a form not known here are left out."""
    first, *rest = [*words] or [""]
    chain = _CHAIN.fullmatch(first)
    if chain is None:
        return None
    rows = (_SIGNED.fullmatch(word) for word in rest)
    return Seen(int(chain[1]), chain[2], {row[1]: row[2] for row in rows if row is not None})


def is_on_chain(approvers: "Approvers", length: int, head: str) -> bool:
    """True if a chain has so many links and that one at this place, so that it goes on from what was seen."""
    return 0 < length <= len(approvers.entries) and approvers.entries[length - 1].digest()[:_DIGITS] == head[:_DIGITS]


def why_behind(approvers: "Approvers", signed: Mapping[str, str], seen: Seen) -> str:
    """Return in which way a chain, or the files `signed` at these times, is older than a statement; empty if it is not.

    A file that nobody signed is none of the old ones: it does not count anyway.
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
    """Return the string that pins a project: its id, how far the chain goes, and the first key."""
    return f"{approvers.project}/{len(approvers.entries)}.{approvers.head[:_DIGITS]}/{approvers.root.key}"


def parse_root(text: str) -> RootPin:
    """Return what `--root` names. Raises: Invalid."""
    found = _ROOT.fullmatch(text)
    if found is not None:
        return RootPin(found[4], found[1], int(found[2]), found[3])
    if _KEY.fullmatch(text):
        return RootPin(text)
    raise Invalid(f"{one_line(text, 80)!r} pins no project", hint="git nexus approver list prints the string to give")


def refuse_unpinned(pin: RootPin, approvers: "Approvers") -> None:
    """Refuse approvers that are not those of the pinned project. Raises: VerificationFailed."""
    if approvers.root.key != pin.key:
        raise _other(f"the first approver is {approvers.root.key}, not the one that --root names")
    if pin.project and approvers.project != pin.project:
        raise _other(f"this is the state of project {one_line(approvers.project, 64)}, and --root pins {pin.project}")
    if pin.project and not is_on_chain(approvers, pin.length, pin.head):
        raise _other(f"entry {pin.length} of the list of approvers, which --root names, is missing or another one")


def _other(words: str) -> VerificationFailed:
    return VerificationFailed(words, hint="find out who changed the list: git nexus log approvers")
