"""Tokens: what a person approved, signed; and the check that it is what is about to be done."""

import dataclasses
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from gitnexus.base.canonical import canonical, parse
from gitnexus.base.chance import token as chance
from gitnexus.base.clock import ELSEWHERE, milliseconds
from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.record import Record
from gitnexus.policy.encoding import encoded, raw_of
from gitnexus.policy.keys import Signer, verify
from gitnexus.policy.model import Kind, Mode, Scope

VERSION = 1
PREFIX = "nx1"
# What is signed begins with this, so that no signature of ours means one thing here and another there.
DOMAIN = b"git-nexus token v1\0"
LARGEST = 16_384
# A clock may be a little ahead of another.
SKEW = timedelta(minutes=1)
LONGEST_ONCE = timedelta(days=1)
LONGEST = timedelta(days=90)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NONCE = re.compile(r"[0-9a-f]{32}")
_TEXT = re.compile(r"nx1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")


class Expected(Record):
    """What is about to be done, recomputed by who does it. A token of scope `once` must say all of it."""

    project: str
    run: str
    action: str
    kind: Kind
    request: str
    mode: Mode
    base: str = ""
    result: str = ""
    patch_id: str = ""
    role: str = ""
    session: str = ""
    workflow: str = ""


class Claims(Expected):
    """What a token says. Times are milliseconds since 1970; `ledger` is the one place where it can be spent.

    `paths` and `argv` are what a scope wider than `once` reaches. `seen` is how far the approver's machine knew the
    chain of approvers and the signatures of files (`policy.seen`), so that an older state that is put back is noticed.
    `unseen` says that the approver had not been shown what they approved.
    """

    v: int = VERSION
    scope: Scope
    ledger: str
    approver: str
    issued: int
    expires: int
    nonce: str
    paths: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    unseen: bool = False

    def bytes(self) -> bytes:
        """Return the canonical form, which is what is signed."""
        said = self.plain()
        return canonical({key: value for key, value in said.items() if value or key not in _ADDED})


# Fields that came later stand in a token only where they say something: older tokens keep their one spelling.
_ADDED = ("seen", "unseen")
_FIELDS = len(dataclasses.fields(Claims)) - len(_ADDED)


class Trusted(Protocol):
    """Whom to believe: the approvers of the project."""

    @property
    def project(self) -> str:
        """The project's own id."""

    def public_of(self, key_id: str) -> str:
        """Return the public key of an approver. Raises: VerificationFailed for one unknown or revoked."""


class Book(Protocol):
    """Where spent tokens are kept."""

    def refuse_spent(self, claims: Claims) -> None:
        """Raises: VerificationFailed for what is spent, taken back or of another book."""

    def spend(self, claims: Claims, now: datetime) -> None:
        """Burn it for good, before anything is executed. Raises: VerificationFailed if somebody did already."""


def approved(
    expected: Expected,
    *,
    scope: Scope,
    ledger: str,
    approver: str,
    now: datetime,
    lasts: timedelta,
    paths: tuple[str, ...] = (),
    argv: tuple[str, ...] = (),
) -> Claims:
    """Return the claims of an approval that is given now; `issue` refuses those that break a rule."""
    issued = milliseconds(now)
    said: dict[str, Any] = {**vars(expected), "scope": scope, "ledger": ledger, "approver": approver, "issued": issued}
    said |= {"expires": issued + int(lasts.total_seconds() * 1000), "nonce": chance(32), "paths": paths, "argv": argv}
    return Claims(**said)


def issue(claims: Claims, signer: Signer) -> str:
    """Return the token, one line. Raises: Invalid, Failed."""
    _refuse_malformed(claims)
    if claims.approver != signer.key_id:
        raise Invalid(f"this approval names {claims.approver}, the key at hand is {signer.key_id}")
    raw = claims.bytes()
    text = f"{PREFIX}.{encoded(raw)}.{encoded(signer.sign(DOMAIN + raw))}"
    if len(text) > LARGEST:
        raise Invalid("this approval reaches so many things that no token holds it", hint="approve fewer at a time")
    return text


def parsed(token: str) -> tuple[Claims, bytes]:
    """Return what a token says and its signature, neither believed yet. Raises: VerificationFailed."""
    claims, _, signature = _taken_apart(token)
    return claims, signature


class Glimpse(NamedTuple):
    """What may be a token, as far as a look over thousands needs it: nothing of it was checked."""

    project: str
    approver: str
    seen: tuple[str, ...]


def glimpse(token: str) -> Glimpse | None:
    """Return what a token seems to say, at a fraction of what `parsed` costs; None for what is none."""
    found = _TEXT.fullmatch(token) if len(token) <= LARGEST else None
    try:
        value = json.loads(raw_of(found[1])) if found is not None else None
    except (VerificationFailed, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("seen", []), list):
        return None
    words = (value.get("project"), value.get("approver"), *value.get("seen", []))
    return Glimpse(words[0], words[1], words[2:]) if all(isinstance(word, str) for word in words) else None


def _taken_apart(token: str) -> tuple[Claims, bytes, bytes]:
    """Return what a token says, the bytes that say it, and their signature. Raises: VerificationFailed."""
    if len(token) > LARGEST:
        raise VerificationFailed("the token is too long to be one")
    found = _TEXT.fullmatch(token)
    if found is None:
        raise VerificationFailed("the token does not have the form nx1.<claims>.<signature>")
    try:
        raw, signature = raw_of(found[1]), raw_of(found[2])
        value = parse(raw)
        claims = Claims.from_value(value, "token")
        _refuse_malformed(claims)
        # Every field is there and in its one spelling: then these are the bytes that `issue` would sign again.
        count = _FIELDS + sum(bool(getattr(claims, name)) for name in _ADDED)
        same = len(value) == count and canonical(value) == raw
    except (Invalid, VerificationFailed) as exc:
        raise VerificationFailed(f"the token is malformed: {exc.message}") from exc
    if not same:
        raise VerificationFailed("the token is malformed: its claims are not in canonical form")
    return claims, raw, signature


def proved(token: str, approvers: Trusted, now: datetime | None = None) -> Claims:
    """Return the claims of a token that an approver of this project signed, at any time before `now`, if given.

    For who reads history: it says nothing else about time and use. Raises: VerificationFailed.
    """
    claims, raw, signature = _taken_apart(token)
    if now is not None:
        refuse_future(claims, now, ELSEWHERE)
    if claims.project != approvers.project:
        raise _other("project", claims.project, approvers.project)
    try:
        verify(approvers.public_of(claims.approver), DOMAIN + raw, signature)
    except VerificationFailed as exc:
        if exc.context.get("approver"):
            raise
        raise VerificationFailed("the token is forged: its signature is not the approver's") from exc
    return claims


def checked(token: str, expected: Expected, approvers: Trusted, now: datetime, ledger: Book) -> Claims:
    """Return the claims of a token of scope `once` that approves exactly `expected`. It is not spent by this.

    Raises: VerificationFailed, saying what differs.
    """
    claims = proved(token, approvers)
    if claims.scope != "once":
        raise VerificationFailed(f"the token has scope {claims.scope}; here only one for this very request counts")
    for name, value in vars(expected).items():
        if getattr(claims, name) != value:
            raise _other(name, getattr(claims, name), value)
    _refuse_time(claims, now)
    ledger.refuse_spent(claims)
    return claims


def redeemed(token: str, expected: Expected, approvers: Trusted, now: datetime, ledger: Book) -> Claims:
    """Check a token and burn it; what it approved may be executed now, once. Raises: VerificationFailed, Busy."""
    claims = checked(token, expected, approvers, now, ledger)
    ledger.spend(claims, now)
    return claims


def granted(
    token: str,
    expected: Expected,
    approvers: Trusted,
    now: datetime,
    ledger: Book,
    covers: Callable[[Claims], bool],
) -> Claims:
    """Return the claims of a standing approval that holds for `expected`; `covers` judges what its scope reaches.

    Raises: VerificationFailed.
    """
    claims = proved(token, approvers)
    if claims.scope == "once":
        raise VerificationFailed("the token is for one request, and no standing approval")
    bound = ["kind", "role", *_BOUND[claims.scope]]
    for name in bound:
        if getattr(claims, name) != getattr(expected, name):
            raise _other(name, getattr(claims, name), getattr(expected, name))
    _refuse_time(claims, now)
    ledger.refuse_spent(claims)
    if not covers(claims):
        raise VerificationFailed(f"the approval of scope {claims.scope} does not reach this request")
    return claims


# What a scope holds fast beside project, kind and role.
_BOUND: dict[Scope, tuple[str, ...]] = {
    "session": ("session",), "workflow": ("workflow",), "repository": (), "path": (), "argv": (),
}  # fmt: skip


def refuse_future(claims: Claims, now: datetime, skew: timedelta = SKEW) -> None:
    """Refuse a token that was issued later than now. Raises: VerificationFailed."""
    if claims.issued > milliseconds(now) + skew.total_seconds() * 1000:
        raise VerificationFailed("the token is not valid yet: it was issued in the future", hint="look at the clock")


def _refuse_time(claims: Claims, now: datetime) -> None:
    here = milliseconds(now)
    refuse_future(claims, now)
    if here >= claims.expires:
        raise VerificationFailed("the token is expired", hint="approve again")


def _refuse_malformed(claims: Claims) -> None:
    longest = LONGEST_ONCE if claims.scope == "once" else LONGEST
    reach = {"path": claims.paths, "argv": claims.argv, "session": claims.session, "workflow": claims.workflow}
    wrong = [
        (claims.v != VERSION, f"version {claims.v} is not known"),
        (not _DIGEST.fullmatch(claims.request), "request is no digest"),
        (not _NONCE.fullmatch(claims.nonce), "nonce should be 32 hex digits"),
        (not (claims.project and claims.run and claims.action and claims.approver and claims.ledger),
         "project, run, action, approver and ledger must be named"),
        (claims.issued < 0 or claims.expires <= claims.issued, "it ends before it begins"),
        (claims.expires - claims.issued > longest.total_seconds() * 1000, f"it lasts longer than {longest.days} days"),
        (claims.kind == "patch" and claims.scope == "once" and not (claims.base and claims.result),
         "a patch needs its base and its result"),
        (claims.scope in reach and not reach.get(claims.scope), f"scope {claims.scope} does not say what it reaches"),
        (claims.scope != "path" and bool(claims.paths), "only scope path names paths"),
        (claims.scope != "argv" and bool(claims.argv), "only scope argv names arguments"),
    ]  # fmt: skip
    for is_wrong, words in wrong:
        if is_wrong:
            raise Invalid(words)


def _other(name: str, said: str, meant: str) -> VerificationFailed:
    words = {"request": "request", "result": "result tree", "patch_id": "patch", "base": "base"}.get(name, name)
    return VerificationFailed(
        f"the token is for another {words}", hint="approve what is to be done now", context={"token": said, "is": meant}
    )
