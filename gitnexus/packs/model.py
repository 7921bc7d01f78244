"""The records of a pack: its references, the pieces included, what was left out and why, and the hash of it all."""

import hashlib
from typing import Literal

from gitnexus.base.canonical import canonical_json
from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.record import Record

VERSION = 1
LARGEST_KIB = 4096
LEAST_TOKENS = 400
LARGEST_TOKENS = 2_000_000
Kind = Literal["artifact", "commit", "context", "cycle", "doc", "file", "grep", "memory", "rule", "task"]


class PackBudget(Record):
    """The size limit of the whole text. With `tokens` 0, only KiB count."""

    kib: int = 160
    tokens: int = 0

    def checked(self) -> "PackBudget":
        """Return the budget if any pack fits into it. Raises: Invalid."""
        if not 1 <= self.kib <= LARGEST_KIB:
            raise Invalid(f"a pack has 1 to {LARGEST_KIB} KiB")
        if self.tokens and not LEAST_TOKENS <= self.tokens <= LARGEST_TOKENS:
            raise Invalid(
                f"a pack has {LEAST_TOKENS} to {LARGEST_TOKENS:,} tokens", hint="0 is for no limit besides the KiB"
            )
        return self


class LineSource(Record):
    """The origin of lines: a blob at a path of a commit. `commit` is empty for artifacts of a run's log."""

    path: str
    blob: str
    first_line: int
    last_line: int
    commit: str = ""


class PackPiece(Record):
    """The content of one reference. `lines` is the total number; `cut` is set if not all of them fit."""

    ref: str
    kind: Kind
    sources: tuple[LineSource, ...]
    text: str
    lines: int
    cut: bool = False
    hidden: int = 0


class LeftOutReference(Record):
    """A reference that was left out or cut, and the reason."""

    ref: str
    why: str


class ContextPack(Record):
    """The whole pack. `base` is the commit of the code, `state` that of the state; `refs` are complete and in order."""

    version: int = VERSION
    base: str
    state: str
    refs: tuple[str, ...]
    budget: PackBudget
    pieces: tuple[PackPiece, ...]
    left_out: tuple[LeftOutReference, ...]
    hash: str = ""

    def hashed(self) -> "ContextPack":
        """Return the pack with its hash, computed over the canonical form of everything else."""
        return self.changed(hash=_hash_of_pack(self))

    def verified(self) -> "ContextPack":
        """Return the pack if it matches its hash. Raises: VerificationFailed."""
        if self.version != VERSION or self.hash != _hash_of_pack(self):
            raise VerificationFailed("this pack is not what its hash says", hint="build it again")
        return self


def _hash_of_pack(pack: ContextPack) -> str:
    plain = pack.plain()
    plain.pop("hash")
    return f"sha256:{hashlib.sha256(canonical_json(plain)).hexdigest()}"
