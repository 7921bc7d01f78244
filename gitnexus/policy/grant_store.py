"""Standing approvals of one repository: a grant and the token that an approver signed for exactly it, a file each.

They lie in the git common dir, out of an agent's reach; what is not signed, or is for another grant, is passed over.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from gitnexus.base.canonical import canonical, document, parse
from gitnexus.base.errors import Invalid, NexusError, NotFound
from gitnexus.base.files import replace
from gitnexus.policy.grants import Grant
from gitnexus.policy.model import Scope
from gitnexus.policy.tokens import Book, Claims, Trusted, proved, refuse_future

FOLDER = "grants"
LASTS: dict[Scope, timedelta] = {"session": timedelta(days=1), "workflow": timedelta(days=1)}
LASTS_OTHERWISE = timedelta(days=30)
_LARGEST = 64 * 1024


def grant_digest(grant: Grant) -> str:
    """Return what the token of a standing approval is bound to: the whole grant."""
    return f"sha256:{hashlib.sha256(canonical({'v': 1, 'grant': grant.plain()})).hexdigest()}"


class Grants:
    """The standing approvals of a repository."""

    def __init__(self, common_dir: Path) -> None:
        self._folder = common_dir / "nexus" / FOLDER

    def keep(self, grant: Grant, claims: Claims, token: str) -> str:
        """Keep a grant under the name of its token's nonce."""
        replace(self._folder / f"{claims.nonce}.json", document({"grant": grant.plain(), "token": token}), 0o600)
        return claims.nonce

    def holding(self, approvers: Trusted, ledger: Book, now: datetime) -> list[tuple[str, Grant]]:
        """Return the grants that hold now, by name: signed for exactly this, not expired, not taken back."""
        found = []
        for name, grant, token in self._stored():
            with contextlib.suppress(NexusError):
                claims = proved(token, approvers)
                if claims.scope != grant.scope or claims.request != grant_digest(grant) or claims.nonce != name:
                    continue
                if claims.expires <= int(now.timestamp() * 1000):
                    continue
                refuse_future(claims, now)
                ledger.refuse_spent(claims)
                found.append((name, grant))
        return found

    def claims(self, name: str, approvers: Trusted) -> Claims:
        """Return what the token of a grant says. Raises: NotFound, VerificationFailed."""
        for stored, _, token in self._stored():
            if stored == name:
                return proved(token, approvers)
        raise NotFound(f"there is no standing approval {name}")

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to verify: most repositories."""
        return not self._folder.is_dir() or not any(self._folder.iterdir())

    def _stored(self) -> Iterator[tuple[str, Grant, str]]:
        for path in sorted(self._folder.glob("*.json")) if self._folder.is_dir() else ():
            try:
                raw = path.read_bytes()[: _LARGEST + 1]
                value = parse(raw) if len(raw) <= _LARGEST else None
                if isinstance(value, dict) and isinstance(value.get("token"), str):
                    yield path.stem, Grant.from_value(value.get("grant"), path.name), value["token"]
            except (Invalid, OSError):
                continue  # what cannot be read approves nothing
