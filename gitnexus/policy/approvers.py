"""The approvers of a project: parses and verifies the chain of signed entries, adds and revokes keys."""

import dataclasses
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from gitnexus.base.canonical import canonical_json, json_document, parse_json
from gitnexus.base.clock import format_timestamp, is_future, utc_now
from gitnexus.base.errors import Duplicate, Invalid, NotFound, VerificationFailed
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.keys import Signer, key_id, normalize_public_key, verify_signature

FILE = "approvers"
DOMAIN = b"git-nexus approver v1\0"
_LONGEST_NAME = 100
_MOST = 1000
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


class ApproverEntry(Record):
    """One entry: a key is added or revoked, signed by an active key. `prev` is the digest of the previous entry."""

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
        """Return the bytes that the signature covers."""
        return DOMAIN + canonical_json(self.changed(signature="").plain())

    def digest(self) -> str:
        """Return the digest of this entry, signature included."""
        return hashlib.sha256(canonical_json(self.plain())).hexdigest()


@dataclass(frozen=True, slots=True)
class Approver:
    """A present or former key; it counts from `since` on, never earlier than the key that added it."""

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
    entries: tuple[ApproverEntry, ...]
    known: dict[str, Approver]

    @property
    def root(self) -> Approver:
        """The first key, which signed itself."""
        return self.known[self.entries[0].key]

    @property
    def head(self) -> str:
        """The digest of the last entry."""
        return self.entries[-1].digest()

    @property
    def active(self) -> list[Approver]:
        """The approvers that count now."""
        return [one for one in self.known.values() if not one.revoked]

    def public_of(self, key: str) -> str:
        """Return an approver's public key. Raises: VerificationFailed if unknown, revoked or dated in the future.

        The first key counts whatever its date, because the user trusts it.
        """
        found = self.known.get(key)
        if found is None:
            raise VerificationFailed(
                f"{one_line(key, 60)} is not an approver of this project",
                hint="git nexus approver list shows who is",
                context={"approver": "unknown"},
            )
        if found.revoked:
            raise VerificationFailed(
                f"the approver {one_line(found.name, 60)} was revoked {found.revoked}",
                hint="approve again with a key that counts",
                context={"approver": "revoked"},
            )
        if found.key != self.entries[0].key and is_future(found.since, utc_now()):
            raise VerificationFailed(
                f"the approver {one_line(found.name, 60)} was added in the future, {found.since}",
                hint="look at the clocks; a key that was added with a wrong one is revoked, and another one added",
                context={"approver": "future"},
            )
        return found.public

    def to_bytes(self) -> bytes:
        """Return the stored form."""
        return render_chain(self.entries)


def render_chain(entries: Sequence[ApproverEntry]) -> bytes:
    """Return the file content of a chain."""
    return json_document({"v": 1, "entries": [entry.plain() for entry in entries]})


def parse_chain(raw: bytes) -> tuple[ApproverEntry, ...]:
    """Return the entries of a file, not verified yet. Raises: VerificationFailed."""
    try:
        value: Any = parse_json(raw)
        if not isinstance(value, dict) or value.keys() != {"v", "entries"} or value["v"] != 1:
            raise Invalid("it is not of a form that is known here")
        rows = value["entries"]
        if not isinstance(rows, list) or not 0 < len(rows) <= _MOST:
            raise Invalid("it has no entries, or too many")
        return tuple(ApproverEntry.from_value(row, f"entry {at}") for at, row in enumerate(rows, 1))
    except Invalid as exc:
        raise _chain_error(exc.message) from exc


def verify_chain(raw: bytes, project: str, *, proved: bool = False, known: int = 0) -> Approvers:
    """Return the approvers of a project after verifying every entry. Raises: VerificationFailed, Failed.

    `proved` means that the caller has verified the signatures of exactly these bytes before; `known` is the number of
    leading entries for which that holds.
    """
    people: dict[str, Approver] = {}
    prev = ""
    entries = parse_chain(raw)
    for at, entry in enumerate(entries, 1):
        try:
            _apply_entry(people, entry, project, prev, proved or at <= known)
        except (Invalid, VerificationFailed) as exc:
            raise _chain_error(f"entry {at}: {exc.message}") from exc
        prev = entry.digest()
    return Approvers(project, entries, people)


def start_chain(project: str, name: str, signer: Signer, now: datetime) -> Approvers:
    """Return the first list of a project: one self-signed key."""
    return _with_signed_entry(
        Approvers(project, (), {}), signer, now, act="add", public=signer.public, key=signer.key_id, name=name
    )


def with_added_key(approvers: Approvers, public: str, name: str, signer: Signer, now: datetime) -> Approvers:
    """Return the list with another key. Raises: Duplicate, Invalid, VerificationFailed."""
    public = normalize_public_key(public)
    found = approvers.known.get(key_id(public))
    if found is not None:
        # Restoring a revoked key would make valid what was signed with it while it was lost.
        state = "was revoked; a revoked key cannot be added again" if found.revoked else "is an approver already"
        raise Duplicate(f"{found.key} {state}", hint="git nexus approver list")
    return _with_signed_entry(approvers, signer, now, act="add", public=public, key=key_id(public), name=name)


def with_revoked_key(approvers: Approvers, word: str, reason: str, signer: Signer, now: datetime) -> Approvers:
    """Return the list without a key, given by id, id prefix or name. Raises: NotFound, Invalid."""
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
        raise Invalid(
            "that is the last approver: nobody could approve anything afterwards", hint="add another one first"
        )
    return _with_signed_entry(approvers, signer, now, act="revoke", key=named[0].key, reason=reason)


def _with_signed_entry(approvers: Approvers, signer: Signer, now: datetime, **said: Any) -> Approvers:
    prev = approvers.head if approvers.entries else ""
    entry = ApproverEntry(project=approvers.project, at=format_timestamp(now), by=signer.key_id, prev=prev, **said)
    _refuse_odd_text(entry)
    entry = entry.changed(signature=encode_base64(signer.sign(entry.signed())))
    known = dict(approvers.known)
    _apply_entry(known, entry, approvers.project, prev)
    return Approvers(approvers.project, (*approvers.entries, entry), known)


def _apply_entry(
    known: dict[str, Approver], entry: ApproverEntry, project: str, prev: str, proved: bool = False
) -> None:
    """Verify one entry and apply it. Raises: VerificationFailed, Invalid."""
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
    signer = entry.public if is_first else _public_of_signer(known, entry.by)
    if not proved:
        verify_signature(signer, entry.signed(), decode_base64(entry.signature))
    if entry.act == "add":
        since = entry.at if is_first else max(entry.at, _signer_since(known, entry.by))
        known[entry.key] = Approver(entry.key, entry.public, entry.name, entry.at, entry.by, since)
        return
    known[entry.key] = dataclasses.replace(known[entry.key], revoked=entry.at)


def _refuse_odd_text(entry: ApproverEntry) -> None:
    """Raise an error for text that could display as something else. Raises: Invalid."""
    for word in ("name", "reason"):
        text = getattr(entry, word)
        if len(text) > _LONGEST_NAME or one_line(text) != text:
            raise Invalid(f"the {word} should be one plain line of at most {_LONGEST_NAME} characters")
    if not _STAMP.fullmatch(entry.at):
        raise Invalid("at is no time")


def _signer_since(known: dict[str, Approver], key: str) -> str:
    """Return since when a signer counts; the first key always did."""
    first = next(iter(known))
    return "" if key == first else known[key].since


def _public_of_signer(known: dict[str, Approver], key: str) -> str:
    if key not in known or known[key].revoked:
        raise VerificationFailed(
            f"{one_line(key, 60)} may not sign: it is not an approver", hint="git nexus approver list"
        )
    return known[key].public


def _chain_error(why: str) -> VerificationFailed:
    return VerificationFailed(
        f"the list of approvers cannot be trusted: {why}",
        hint="git nexus log approvers shows who wrote it",
    )
