"""A token issued and checked, beside the bare signature that no token can do without."""

import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from measure import Ratio, compare

from gitnexus.policy.approvers import start_chain
from gitnexus.policy.encoding import encode_base64
from gitnexus.policy.keys import key_id
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.tokens import ExpectedAction, TokenClaims, check_token, issue_token, make_claims, redeem_token

AT_ONCE = 50


class Key:
    """A signer that has its key at hand, as a process that approves many times does."""

    def __init__(self) -> None:
        self.private = Ed25519PrivateKey.generate()
        self.public = f"ed25519 {encode_base64(self.private.public_key().public_bytes_raw())}"
        self.key_id = key_id(self.public)

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


class Open:
    """A ledger that knows of nothing spent: what the disk costs is measured by itself."""

    def refuse_spent(self, claims: TokenClaims) -> None:
        pass

    def spend(self, claims: TokenClaims, now: datetime) -> None:
        pass


def fsynced(place: Path) -> None:
    """Two files on the disk for good, one by rename: the least that a promise to remember costs."""
    for name in ("anchor", "line"):
        fd = os.open(place / f"{name}.tmp", os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(fd, b"x" * 250)
        os.fsync(fd)
        os.close(fd)
    os.replace(place / "anchor.tmp", place / "anchor")
    folder = os.open(place, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def ratios() -> Iterator[Ratio]:
    key, moment = Key(), datetime.now(UTC)
    approvers = start_chain("0123456789abcdef", "bench", key, moment)
    expected = ExpectedAction(
        project="0123456789abcdef", run="r1", action="a1", kind="patch", request="sha256:" + "1" * 64, mode="default",
        base="b" * 40, result="c" * 40, patch_id="d" * 40, role="engineer",
    )  # fmt: skip

    def token(ledger: str) -> str:
        claims = make_claims(
            expected, scope="once", ledger=ledger, approver=key.key_id, now=moment, lasts=timedelta(hours=1)
        )
        return issue_token(claims, key)

    message = token("x").encode()
    public = key.private.public_key()

    def bare() -> None:
        for _ in range(AT_ONCE):
            public.verify(key.private.sign(message), message)

    def ours() -> None:
        for _ in range(AT_ONCE):
            check_token(token("x"), expected, approvers, moment, Open())

    yield compare(f"{AT_ONCE} tokens issued and verified", ours, "bare Ed25519 sign and verify", bare, 3.0, 40)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NEXUS_HOME"] = str(Path(folder, "home"))
        ledger = Ledger(Path(folder, "git"))
        book = ledger.begin(moment)
        tokens = [token(book) for _ in range(60)]
        yield compare(
            "a token redeemed, on the disk",
            lambda: redeem_token(tokens.pop(), expected, approvers, moment, ledger),
            "two small files written and synced",
            lambda: fsynced(Path(folder)),
            6.0,
            40,
        )
