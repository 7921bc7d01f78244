"""Stores standing approvals of a repository, one file each with the grant and its signed token; lists the valid ones.

They are in the git common dir, out of an agent's reach; a grant without a matching signature is ignored.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from gitnexus.base.canonical import canonical_json, json_document, parse_json
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.files import replace_file
from gitnexus.policy.grants import ApprovalGrant
from gitnexus.policy.model import Scope
from gitnexus.policy.tokens import SpentTokens, TokenClaims, TrustedKeys, refuse_future, verify_token

FOLDER = "grants"
LASTS: dict[Scope, timedelta] = {"session": timedelta(days=1), "workflow": timedelta(days=1)}
LASTS_OTHERWISE = timedelta(days=30)
_LARGEST = 64 * 1024


def grant_digest(grant: ApprovalGrant) -> str:
    """Return the digest of a grant, to which its token is bound."""
    return f"sha256:{hashlib.sha256(canonical_json({'v': 1, 'grant': grant.plain()})).hexdigest()}"


class GrantStore:
    """The standing approvals of a repository."""

    def __init__(self, common_dir: Path) -> None:
        self._folder = common_dir / "nexus" / FOLDER

    def keep(self, grant: ApprovalGrant, claims: TokenClaims, token: str) -> str:
        """Store a grant under its token's nonce; return that name."""
        replace_file(
            self._folder / f"{claims.nonce}.json", json_document({"grant": grant.plain(), "token": token}), 0o600
        )
        return claims.nonce

    def holding(self, approvers: TrustedKeys, ledger: SpentTokens, now: datetime) -> list[tuple[str, ApprovalGrant]]:
        """Return the valid grants by name: signed for exactly this, not expired, not revoked."""
        found = []
        for name, grant, token in self._read_grants():
            with contextlib.suppress(NexusError):
                claims = verify_token(token, approvers)
                if claims.scope != grant.scope or claims.request != grant_digest(grant) or claims.nonce != name:
                    continue
                if claims.expires <= int(now.timestamp() * 1000):
                    continue
                refuse_future(claims, now)
                ledger.refuse_spent(claims)
                found.append((name, grant))
        return found

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to verify, as in most repositories."""
        return not self._folder.is_dir() or not any(self._folder.iterdir())

    def _read_grants(self) -> Iterator[tuple[str, ApprovalGrant, str]]:
        for path in sorted(self._folder.glob("*.json")) if self._folder.is_dir() else ():
            try:
                raw = path.read_bytes()[: _LARGEST + 1]
                value = parse_json(raw) if len(raw) <= _LARGEST else None
                if isinstance(value, dict) and isinstance(value.get("token"), str):
                    yield path.stem, ApprovalGrant.from_value(value.get("grant"), path.name), value["token"]
            except (Invalid, OSError):
                continue  # an unreadable file approves nothing
