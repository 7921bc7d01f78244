"""Keys, approvers, a ledger and requests for tests of approvals."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gitnexus.policy.approvers import Approvers, start_chain, with_added_key
from gitnexus.policy.encoding import encode_base64
from gitnexus.policy.keys import key_id
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.tokens import ExpectedAction, TokenClaims, issue_token, make_claims

PROJECT = "0123456789abcdef"
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Key:
    """A signer in memory."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self.public = f"ed25519 {encode_base64(self._key.public_key().public_bytes_raw())}"
        self.key_id = key_id(self.public)

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


@dataclass
class Scene:
    """One project in which `key` approves."""

    key: Key
    approvers: Approvers
    ledger: Ledger
    id: str

    def token(self, expected: ExpectedAction | None = None, signer: Key | None = None, **changed: Any) -> str:
        return issue_token(self.claims(expected, **changed), signer or self.key)

    def claims(self, expected: ExpectedAction | None = None, **changed: Any) -> TokenClaims:
        asked: dict[str, Any] = {
            "scope": "once", "ledger": self.id, "approver": self.key.key_id, "now": NOW, "lasts": timedelta(hours=1),
        }  # fmt: skip
        return make_claims(expected or patch(), **{**asked, **changed})


def scene(common_dir: Path, *others: Key, project: str = PROJECT) -> Scene:
    key = Key()
    approvers = start_chain(project, "the first", key, NOW)
    for other in others:
        approvers = with_added_key(approvers, other.public, "another", key, NOW)
    ledger = Ledger(common_dir)
    return Scene(key, approvers, ledger, ledger.begin(NOW))


def patch(**changed: Any) -> ExpectedAction:
    said: dict[str, Any] = {
        "project": PROJECT, "run": "r1", "action": "a1", "kind": "patch", "request": "sha256:" + "1" * 64,
        "mode": "default", "base": "b" * 40, "result": "c" * 40, "patch_id": "d" * 40, "role": "engineer",
        "session": "s1", "workflow": "w1",
    }  # fmt: skip
    return ExpectedAction(**{**said, **changed})
