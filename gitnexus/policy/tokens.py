"""Approval tokens: issues, parses, verifies and redeems a signed approval of exactly one request, or of a scope."""

import dataclasses
import json
import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from gitnexus.base.canonical import canonical_json, parse_json
from gitnexus.base.clock import ELSEWHERE, unix_milliseconds
from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.randomness import random_hex as chance
from gitnexus.base.record import Record
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.keys import Signer, verify_signature
from gitnexus.policy.model import Kind, Mode, Scope

VERSION = 1
PREFIX = "nx1"
# Prefix of signed data, so that a signature cannot be reused for another purpose.
DOMAIN = b"git-nexus token v1\0"
LARGEST = 16_384
# Tolerated clock difference.
SKEW = timedelta(minutes=1)
LONGEST_ONCE = timedelta(days=1)
LONGEST = timedelta(days=90)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NONCE = re.compile(r"[0-9a-f]{32}")
_TEXT = re.compile(r"nx1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")


class ExpectedAction(Record):
    """The action about to be executed, recomputed by the executor. A token of scope `once` must match all of it."""

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


class TokenClaims(ExpectedAction):
    """The content of a token. Times are milliseconds since 1970; it can be spent only in `ledger`.

    `paths` and `argv` are the reach of a scope wider than `once`. `seen` is how much of the approver chain and file
    signatures the approver's machine knew (`policy.seen`), so that a restored older state is noticed. `unseen` says
    that the approver was not shown what they approved.
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
        """Return the canonical form, which is signed."""
        said = self.plain()
        return canonical_json({key: value for key, value in said.items() if value or key not in _ADDED})


# Later fields appear in a token only if set, so that older tokens keep their encoding.
_ADDED = ("seen", "unseen")
_FIELDS = len(dataclasses.fields(TokenClaims)) - len(_ADDED)


class TrustedKeys(Protocol):
    """The approvers of the project."""

    @property
    def project(self) -> str:
        """The project's id."""

    def public_of(self, key_id: str) -> str:
        """Return the public key of an approver. Raises: VerificationFailed for one unknown or revoked."""


class SpentTokens(Protocol):
    """The ledger of spent tokens."""

    def refuse_spent(self, claims: TokenClaims) -> None:
        """Raises: VerificationFailed for a token that is spent, revoked or of another ledger."""

    def spend(self, claims: TokenClaims, now: datetime) -> None:
        """Spend it permanently before anything is executed. Raises: VerificationFailed if it is spent already."""


def make_claims(
    expected: ExpectedAction,
    *,
    scope: Scope,
    ledger: str,
    approver: str,
    now: datetime,
    lasts: timedelta,
    paths: tuple[str, ...] = (),
    argv: tuple[str, ...] = (),
) -> TokenClaims:
    """Return the claims of an approval given now; `issue_token` validates them."""
    issued = unix_milliseconds(now)
    said: dict[str, Any] = {**vars(expected), "scope": scope, "ledger": ledger, "approver": approver, "issued": issued}
    said |= {"expires": issued + int(lasts.total_seconds() * 1000), "nonce": chance(32), "paths": paths, "argv": argv}
    return TokenClaims(**said)


def issue_token(claims: TokenClaims, signer: Signer) -> str:
    """Return the signed token as one line. Raises: Invalid, Failed."""
    _refuse_malformed(claims)
    if claims.approver != signer.key_id:
        raise Invalid(f"this approval names {claims.approver}, the available key is {signer.key_id}")
    raw = claims.bytes()
    text = f"{PREFIX}.{encode_base64(raw)}.{encode_base64(signer.sign(DOMAIN + raw))}"
    if len(text) > LARGEST:
        raise Invalid("this approval covers too much for one token", hint="approve fewer at a time")
    return text


def parse_token(token: str) -> tuple[TokenClaims, bytes]:
    """Return the claims of a token and its signature, not verified yet. Raises: VerificationFailed."""
    claims, _, signature = _split_token(token)
    return claims, signature


class TokenGlimpse(NamedTuple):
    """The unverified fields of a possible token that a scan over thousands needs."""

    project: str
    approver: str
    seen: tuple[str, ...]


def glimpse_token(token: str) -> TokenGlimpse | None:
    """Return unverified fields of a token, much faster than `parse_token`; None if it is not one."""
    found = _TEXT.fullmatch(token) if len(token) <= LARGEST else None
    try:
        value = json.loads(decode_base64(found[1])) if found is not None else None
    except (VerificationFailed, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("seen", []), list):
        return None
    words = (value.get("project"), value.get("approver"), *value.get("seen", []))
    return TokenGlimpse(words[0], words[1], words[2:]) if all(isinstance(word, str) for word in words) else None


def _split_token(token: str) -> tuple[TokenClaims, bytes, bytes]:
    """Return the claims of a token, their bytes and their signature. Raises: VerificationFailed."""
    if len(token) > LARGEST:
        raise VerificationFailed("the token is too long to be one")
    found = _TEXT.fullmatch(token)
    if found is None:
        raise VerificationFailed("the token does not have the form nx1.<claims>.<signature>")
    try:
        raw, signature = decode_base64(found[1]), decode_base64(found[2])
        value = parse_json(raw)
        claims = TokenClaims.from_value(value, "token")
        _refuse_malformed(claims)
        # Every field is present in canonical form, so these are the bytes that `issue_token` would sign.
        count = _FIELDS + sum(bool(getattr(claims, name)) for name in _ADDED)
        same = len(value) == count and canonical_json(value) == raw
    except (Invalid, VerificationFailed) as exc:
        raise VerificationFailed(f"the token is malformed: {exc.message}") from exc
    if not same:
        raise VerificationFailed("the token is malformed: its claims are not in canonical form")
    return claims, raw, signature


def verify_token(token: str, approvers: TrustedKeys, now: datetime | None = None) -> TokenClaims:
    """Return the claims of a token signed by an approver of this project, before `now` if given.

    For reading history: checks neither expiry nor use. Raises: VerificationFailed.
    """
    claims, raw, signature = _split_token(token)
    if now is not None:
        refuse_future(claims, now, ELSEWHERE)
    if claims.project != approvers.project:
        raise _mismatch_error("project", claims.project, approvers.project)
    try:
        verify_signature(approvers.public_of(claims.approver), DOMAIN + raw, signature)
    except VerificationFailed as exc:
        if exc.context.get("approver"):
            raise
        raise VerificationFailed("the token is forged: its signature is not the approver's") from exc
    return claims


def check_token(
    token: str, expected: ExpectedAction, approvers: TrustedKeys, now: datetime, ledger: SpentTokens
) -> TokenClaims:
    """Return the claims of a token of scope `once` that approves exactly `expected`; does not spend it.

    Raises: VerificationFailed, with the difference.
    """
    claims = verify_token(token, approvers)
    if claims.scope != "once":
        raise VerificationFailed(f"the token has scope {claims.scope}; here only one for this very request counts")
    for name, value in vars(expected).items():
        if getattr(claims, name) != value:
            raise _mismatch_error(name, getattr(claims, name), value)
    _refuse_time(claims, now)
    ledger.refuse_spent(claims)
    return claims


def redeem_token(
    token: str, expected: ExpectedAction, approvers: TrustedKeys, now: datetime, ledger: SpentTokens
) -> TokenClaims:
    """Check and spend a token; its action may then be executed once. Raises: VerificationFailed, Busy."""
    claims = check_token(token, expected, approvers, now, ledger)
    ledger.spend(claims, now)
    return claims


def refuse_future(claims: TokenClaims, now: datetime, skew: timedelta = SKEW) -> None:
    """Raise an error for a token issued in the future. Raises: VerificationFailed."""
    if claims.issued > unix_milliseconds(now) + skew.total_seconds() * 1000:
        raise VerificationFailed("the token is not valid yet: it was issued in the future", hint="look at the clock")


def _refuse_time(claims: TokenClaims, now: datetime) -> None:
    here = unix_milliseconds(now)
    refuse_future(claims, now)
    if here >= claims.expires:
        raise VerificationFailed("the token is expired", hint="approve again")


def _refuse_malformed(claims: TokenClaims) -> None:
    longest = LONGEST_ONCE if claims.scope == "once" else LONGEST
    reach = {"path": claims.paths, "argv": claims.argv, "session": claims.session, "workflow": claims.workflow}
    wrong = [
        (claims.v != VERSION, f"version {claims.v} is not known"),
        (not _DIGEST.fullmatch(claims.request), "request is not a digest"),
        (not _NONCE.fullmatch(claims.nonce), "nonce should be 32 hex digits"),
        (
            not (claims.project and claims.run and claims.action and claims.approver and claims.ledger),
            "project, run, action, approver and ledger must be named",
        ),
        (claims.issued < 0 or claims.expires <= claims.issued, "it ends before it begins"),
        (claims.expires - claims.issued > longest.total_seconds() * 1000, f"it lasts longer than {longest.days} days"),
        (
            claims.kind == "patch" and claims.scope == "once" and not (claims.base and claims.result),
            "a patch needs its base and its result",
        ),
        (claims.scope in reach and not reach.get(claims.scope), f"scope {claims.scope} does not say what it reaches"),
        (claims.scope != "path" and bool(claims.paths), "only scope path names paths"),
        (claims.scope != "argv" and bool(claims.argv), "only scope argv names arguments"),
    ]
    for is_wrong, words in wrong:
        if is_wrong:
            raise Invalid(words)


def _mismatch_error(name: str, said: str, meant: str) -> VerificationFailed:
    words = {"request": "request", "result": "result tree", "patch_id": "patch", "base": "base"}.get(name, name)
    return VerificationFailed(
        f"the token is for another {words}", hint="approve what is to be done now", context={"token": said, "is": meant}
    )
