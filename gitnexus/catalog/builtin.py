"""Reads the built-in catalog from its manifest, without importing a YAML parser."""

from functools import cache
from pathlib import Path

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed
from gitnexus.catalog.catalog import BUILT_IN, Catalog
from gitnexus.catalog.hashing import body_hash

FOLDER = Path(__file__).parent / "data"


@cache
def builtin_catalog() -> Catalog:
    """Return it."""
    value = parse_json((FOLDER / "manifest.json").read_bytes())
    hashes = {f"{kind}/{row['id']}": row["body_hash"] for kind in ("agents", "skills") for row in value[kind]}

    def body(path: str) -> str:
        raw = (FOLDER / path / "body.md").read_bytes()
        if body_hash(raw) != hashes[path]:
            raise Failed(f"{FOLDER / path}/body.md was changed after it was installed", hint="install git nexus again")
        return raw.decode("utf-8")

    return Catalog(BUILT_IN, value, body)
