"""Who may approve: a chain of signed entries on the state ref, verified from its first key."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from gitnexus.base.canonical import canonical, document, parse
from gitnexus.base.clock import is_future, now, stamp
from gitnexus.base.errors import Duplicate, Invalid, NotFound, VerificationFailed
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.policy.encoding import encoded, raw_of
from gitnexus.policy.keys import Signer, checked_public, key_id, verify

FILE = "approvers"
DOMAIN = b"git-nexus approver v1\0"
_LONGEST_NAME = 100
_MOST = 1000
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


class Entry(Record):
    """One link: a key comes in or goes out, signed by a key that is in. `prev` is the digest of the link before."""

    act: Literal["add", "revoke"]
    project: str
    key: str
    at: str
    by: str
    prev: str
    public: str = ""
    name: str = ""
    reason: str = ""
    signature: str = ""

    def signed(self) -> bytes:
        """Return what the signature is over."""
        return DOMAIN + canonical(self.changed(signature="").plain())

    def digest(self) -> str:
        """Return the name of this link, signature included."""
        import hashlib  # 6 ms: not for who only imports this

        return hashlib.sha256(canonical(self.plain())).hexdigest()


@dataclass(frozen=True, slots=True)
class Approver:
    """One key that is or was in; it counts from `since` on, which is not before the key that signed it in."""

    key: str
    public: str
    name: str
    added: str
    by: str
    since: str
    revoked: str = ""


@dataclass(frozen=True, slots=True)
class Approvers:
    """The verified list of one project."""

    project: str
    entries: tuple[Entry, ...]
    known: dict[str, Approver]

    @property
    def root(self) -> Approver:
        """The first key: it signed itself."""
        return self.known[self.entries[0].key]

    @property
    def head(self) -> str:
        """The digest of the last link."""
        return self.entries[-1].digest()

    @property
    def active(self) -> list[Approver]:
        """Those that count now."""
        return [one for one in self.known.values() if not one.revoked]

    def public_of(self, key: str) -> str:
        """Return the public key of an approver. Raises: VerificationFailed for one unknown, revoked or of the future.

        The first key counts by the word of who trusts it, whatever its date.
        """
        found = self.known.get(key)
        if found is None:
            raise VerificationFailed(
                f"{one_line(key, 60)} is no approver of this project",
                hint="git nexus approver list shows who is",
                context={"approver": "unknown"},
            )
        if found.revoked:
            raise VerificationFailed(
                f"the approver {one_line(found.name, 60)} was revoked {found.revoked}",
                hint="approve again with a key that counts",
                context={"approver": "revoked"},
            )
        if found.key != self.entries[0].key and is_future(found.since, now()):
            raise VerificationFailed(
                f"the approver {one_line(found.name, 60)} was added in the future, {found.since}",
                hint="look at the clocks; a key that was added with a wrong one is revoked, and another one added",
                context={"approver": "future"},
            )
        return found.public

    def to_bytes(self) -> bytes:
        """Return the stored form."""
        return stored(self.entries)


def stored(entries: Sequence[Entry]) -> bytes:
    """Return the file of a chain."""
    return document({"v": 1, "entries": [entry.plain() for entry in entries]})


def read(raw: bytes) -> tuple[Entry, ...]:
    """Return the links of a file, not believed yet. Raises: VerificationFailed."""
    try:
        value: Any = parse(raw)
        if not isinstance(value, dict) or value.keys() != {"v", "entries"} or value["v"] != 1:
            raise Invalid("it is not of a form that is known here")
        rows = value["entries"]
        if not isinstance(rows, list) or not 0 < len(rows) <= _MOST:
            raise Invalid("it has no entries, or too many")
        return tuple(Entry.from_value(row, f"entry {at}") for at, row in enumerate(rows, 1))
    except Invalid as exc:
        raise _broken(exc.message) from exc


def verified(raw: bytes, project: str, *, proved: bool = False, known: int = 0) -> Approvers:
    """Return the approvers of a project, every link checked from the first. Raises: VerificationFailed, Failed.

    `proved` is for who knows that the signatures of these very bytes were checked before, `known` for who knows it of
    so many links at its beginning.
    """
    people: dict[str, Approver] = {}
    prev = ""
    entries = read(raw)
    for at, entry in enumerate(entries, 1):
        try:
            _follow(people, entry, project, prev, proved or at <= known)
        except (Invalid, VerificationFailed) as exc:
            raise _broken(f"entry {at}: {exc.message}") from exc
        prev = entry.digest()
    return Approvers(project, entries, people)


def founded(project: str, name: str, signer: Signer, now: datetime) -> Approvers:
    """Return the first list of a project: one key, signed by itself."""
    return _with(Approvers(project, (), {}), signer, now, act="add", public=signer.public, key=signer.key_id, name=name)


def added(approvers: Approvers, public: str, name: str, signer: Signer, now: datetime) -> Approvers:
    """Return the list with one more key. Raises: Duplicate, Invalid, VerificationFailed."""
    public = checked_public(public)
    found = approvers.known.get(key_id(public))
    if found is not None:
        # To bring a revoked key back would make worth something what was signed with it while it was lost.
        state = "was revoked, and a revoked key stays out" if found.revoked else "is an approver already"
        raise Duplicate(f"{found.key} {state}", hint="git nexus approver list")
    return _with(approvers, signer, now, act="add", public=public, key=key_id(public), name=name)


def revoked(approvers: Approvers, word: str, reason: str, signer: Signer, now: datetime) -> Approvers:
    """Return the list without a key, named by its id, the beginning of it, or its name. Raises: NotFound, Invalid."""
    active = approvers.active
    named = [one for one in active if word in (one.key, one.name)]
    named = named or [one for one in active if len(word) >= 8 and one.key.startswith(word)]
    if not named:
        raise NotFound(
            f"no approver {one_line(word, 60)}", hint="git nexus approver list", fix="git nexus approver list"
        )
    if len(named) > 1:
        raise Invalid(f"{one_line(word, 60)} names {len(named)} approvers", hint="give the key's id")
    if len(active) == 1:
        raise Invalid("that is the last approver: nobody could approve any more", hint="add another one first")
    return _with(approvers, signer, now, act="revoke", key=named[0].key, reason=reason)


def _with(approvers: Approvers, signer: Signer, now: datetime, **said: Any) -> Approvers:
    prev = approvers.head if approvers.entries else ""
    entry = Entry(project=approvers.project, at=stamp(now), by=signer.key_id, prev=prev, **said)
    _refuse_odd_text(entry)
    entry = entry.changed(signature=encoded(signer.sign(entry.signed())))
    known = dict(approvers.known)
    _follow(known, entry, approvers.project, prev)
    return Approvers(approvers.project, (*approvers.entries, entry), known)


def _follow(known: dict[str, Approver], entry: Entry, project: str, prev: str, proved: bool = False) -> None:
    """Check one link and let it have its effect. Raises: VerificationFailed, Invalid."""
    if entry.project != project:
        raise VerificationFailed("it was signed for another project")
    if entry.prev != prev:
        raise VerificationFailed("it does not follow the one before it")
    _refuse_odd_text(entry)
    is_first = not known
    if is_first and (entry.act != "add" or entry.by != entry.key):
        raise VerificationFailed("the first key must sign itself in")
    if entry.act == "add":
        if key_id(entry.public) != entry.key or entry.key in known:
            raise VerificationFailed("it does not name a new key by its id")
    elif entry.key not in known or known[entry.key].revoked or entry.public:
        raise VerificationFailed("it does not revoke a key that is in")
    signer = entry.public if is_first else _signer(known, entry.by)
    if not proved:
        verify(signer, entry.signed(), raw_of(entry.signature))
    if entry.act == "add":
        since = entry.at if is_first else max(entry.at, _since(known, entry.by))
        known[entry.key] = Approver(entry.key, entry.public, entry.name, entry.at, entry.by, since)
        return
    known[entry.key] = dataclasses.replace(known[entry.key], revoked=entry.at)


def _refuse_odd_text(entry: Entry) -> None:
    """Refuse what could draw something else than it says where people read the list. Raises: Invalid."""
    for word in ("name", "reason"):
        text = getattr(entry, word)
        if len(text) > _LONGEST_NAME or one_line(text) != text:
            raise Invalid(f"the {word} should be one plain line of at most {_LONGEST_NAME} characters")
    if not _STAMP.fullmatch(entry.at):
        raise Invalid("at is no time")


def _since(known: dict[str, Approver], key: str) -> str:
    """Return when a signer began to count: the first key always did."""
    first = next(iter(known))
    return "" if key == first else known[key].since


def _signer(known: dict[str, Approver], key: str) -> str:
    if key not in known or known[key].revoked:
        raise VerificationFailed(f"{one_line(key, 60)} may not sign: it is no approver", hint="git nexus approver list")
    return known[key].public


def _broken(why: str) -> VerificationFailed:
    return VerificationFailed(
        f"the list of approvers cannot be trusted: {why}",
        hint="git nexus log approvers shows who wrote it",
    )
