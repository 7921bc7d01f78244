"""Caches built packs by their hash, and maps each request to the hash of its pack. Deleting the cache loses nothing."""

import contextlib
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gitnexus import __version__
from gitnexus.base.canonical import canonical_json, json_document, parse_json
from gitnexus.base.errors import Failed, Invalid, NexusError, NotFound
from gitnexus.base.files import replace_file
from gitnexus.base.text import one_line
from gitnexus.packs.model import ContextPack

FOLDER = "packs"
MOST = 500
_ASKED = "asked"
_HEX = re.compile(r"[0-9a-f]{4,64}")


class PackCache:
    """The cache `<git-common-dir>/nexus/packs/<hash>.json`, and `asked/<request>` files that contain a hash."""

    def __init__(self, common_dir: Path) -> None:
        self.folder = common_dir / "nexus" / FOLDER

    def put(self, pack: ContextPack, request: str = "") -> None:
        """Store a pack. On a full disk only the cache entry is lost."""
        with contextlib.suppress(OSError):
            place = self._path_of_pack(pack.hash)
            if not place.exists():
                self._forget_oldest_packs()
            replace_file(place, json_document(pack.plain()), 0o600)
            if request:
                replace_file(self.folder / _ASKED / request, pack.hash.encode(), 0o600)

    def named(self, word: str) -> ContextPack:
        """Return a pack by its hash or the beginning of it, verified. Raises: NotFound, Failed, VerificationFailed."""
        plain = word.removeprefix("sha256:")
        known = list(self.folder.glob(f"{plain}*.json")) if _HEX.fullmatch(plain) else []
        if not known:
            raise NotFound(f"there is no pack {one_line(word, 80)}", hint="git nexus pack build makes one")
        if len(known) > 1:
            raise Failed(f"{len(known)} packs begin with {plain}", hint="write more of the hash")
        return _read_pack(known[0])

    def asked(self, request: str) -> ContextPack | None:
        """Return the cached pack of a request, None if there is none or it is damaged."""
        try:
            pack = self.named((self.folder / _ASKED / request).read_text(encoding="ascii"))
        except (OSError, ValueError, NexusError):
            return None
        return pack

    def _path_of_pack(self, hashed: str) -> Path:
        return self.folder / f"{hashed.removeprefix('sha256:')}.json"

    def _forget_oldest_packs(self) -> None:
        """Delete the older half once there are too many."""
        for folder in (self.folder, self.folder / _ASKED):
            rows = sorted((path for path in folder.glob("*") if path.is_file()), key=lambda path: path.stat().st_mtime)
            for path in rows[: len(rows) // 2] if len(rows) >= MOST else ():
                path.unlink(missing_ok=True)


def request_hash(base: str, state: str, refs: Sequence[str], budget: dict[str, Any], rules: str) -> str:
    """Return the hash of a request: equal requests give equal packs. `rules` are the read denials."""
    told = [__version__, base, state, list(refs), budget, rules]
    return hashlib.sha256(canonical_json(told)).hexdigest()


def _read_pack(path: Path) -> ContextPack:
    try:
        return ContextPack.from_value(parse_json(path.read_bytes()), "pack").verified()
    except (OSError, Invalid) as exc:
        why = exc.message if isinstance(exc, Invalid) else exc.strerror
        raise Failed(f"the pack {path.stem[:12]} cannot be read: {why}", hint="build it again") from exc
