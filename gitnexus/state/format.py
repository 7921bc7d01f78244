"""The format of a state tree: which version wrote it, and whether this git nexus may."""

from datetime import datetime

from gitnexus.base.canonical import document, parse
from gitnexus.base.chance import token
from gitnexus.base.clock import stamp
from gitnexus.base.errors import Failed, Invalid
from gitnexus.state.layout import FORMAT_FILE, IGNORE_FILE, IGNORE_TEXT
from gitnexus.state.snapshot import Snapshot

MAJOR, MINOR = 1, 0


def new_tree(kind: str, now: datetime) -> dict[str, bytes]:
    """Return the first files of a state tree; `kind` is project or home."""
    record = {"createdAt": stamp(now), "format": f"{MAJOR}.{MINOR}", "id": token(16), "kind": kind}
    files = {FORMAT_FILE: document(record)}
    if kind == "project":
        files[IGNORE_FILE] = IGNORE_TEXT
    return files


def major_of(snapshot: Snapshot) -> int:
    """Return the major format of a snapshot, 0 for a tree that no git nexus wrote. Raises: Invalid."""
    raw = snapshot.read(FORMAT_FILE)
    if raw is None:
        return 0
    try:
        version = parse(raw)["format"]
        return int(str(version).split(".")[0])
    except (Invalid, KeyError, TypeError, ValueError) as exc:
        raise Invalid(
            f"{FORMAT_FILE} on the state ref does not say which format this is",
            hint="git nexus log shows who wrote it, git show REV:format.json an earlier one",
        ) from exc


def id_of(snapshot: Snapshot) -> str | None:
    """Return the project's own id: the same in every clone, wherever it lies."""
    raw = snapshot.read(FORMAT_FILE)
    value = parse(raw).get("id") if raw else None
    return value if isinstance(value, str) else None


def check(snapshot: Snapshot) -> None:
    """Refuse a state that a newer git nexus wrote in a way this one does not know. Raises: Failed."""
    if snapshot.commit is not None and major_of(snapshot) > MAJOR:
        raise Failed(
            f"this project's state has format {major_of(snapshot)}, this git nexus knows {MAJOR}",
            hint="update git-nexus; nothing was changed",
        )
