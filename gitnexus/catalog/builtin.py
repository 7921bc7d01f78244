"""The catalog that comes with the program, read through its manifest: no YAML on the way of a plain command."""

from functools import cache
from pathlib import Path

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Failed
from gitnexus.catalog.catalog import BUILT_IN, Catalog
from gitnexus.catalog.hashing import body_hash
from gitnexus.catalog.model import Manifest

FOLDER = Path(__file__).parent / "data"


@cache
def built_in() -> Catalog:
    """Return it."""
    manifest = Manifest.from_value(parse((FOLDER / "manifest.json").read_bytes()), "the built-in manifest.json")
    hashes = {f"agents/{agent.id}": agent.body_hash for agent in manifest.agents}
    hashes |= {f"skills/{skill.id}": skill.body_hash for skill in manifest.skills}

    def body(path: str) -> str:
        raw = (FOLDER / path / "body.md").read_bytes()
        if body_hash(raw) != hashes[path]:
            raise Failed(f"{FOLDER / path}/body.md was changed after it was installed", hint="install git nexus again")
        return raw.decode("utf-8")

    return Catalog(BUILT_IN, manifest, body)
