"""Checks which format version wrote a state tree and whether this version of git nexus may read and write it."""

from datetime import datetime

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.randomness import random_hex
from gitnexus.state.layout import FORMAT_FILE, IGNORE_FILE, IGNORE_TEXT
from gitnexus.state.locate import STATE_REF
from gitnexus.state.snapshot import Snapshot

MAJOR, MINOR = 1, 0


def new_state_files(kind: str, now: datetime) -> dict[str, bytes]:
    """Return the initial files of a state tree; `kind` is project or home."""
    record = {"createdAt": format_timestamp(now), "format": f"{MAJOR}.{MINOR}", "id": random_hex(16), "kind": kind}
    files = {FORMAT_FILE: json_document(record)}
    if kind == "project":
        files[IGNORE_FILE] = IGNORE_TEXT
    return files


def format_major_of(snapshot: Snapshot) -> int:
    """Return the major format version of a snapshot, 0 for a tree that git nexus did not write. Raises: Invalid."""
    raw = snapshot.read(FORMAT_FILE)
    if raw is None:
        return 0
    try:
        version = parse_json(raw)["format"]
        if type(version) not in (str, int):
            raise ValueError("it is neither text nor an integer")
        return int(str(version).split(".")[0])
    except (Invalid, KeyError, TypeError, ValueError) as exc:
        raise Invalid(
            f"{FORMAT_FILE} on the state ref does not say which format this is",
            hint="git nexus log shows who wrote it, git show REV:format.json an earlier one",
        ) from exc


def project_id_of(snapshot: Snapshot) -> str | None:
    """Return the project's id: the same in every clone, wherever it is."""
    raw = snapshot.read_once(FORMAT_FILE)
    value = parse_json(raw).get("id") if raw else None
    return value if isinstance(value, str) else None


def check_format(snapshot: Snapshot) -> None:
    """Raise an error for a state in a newer format that this version does not support. Raises: Failed."""
    if snapshot.commit is not None and format_major_of(snapshot) > MAJOR:
        raise Failed(
            f"this project's state has format {format_major_of(snapshot)}, this git nexus knows {MAJOR}",
            hint="update git-nexus; nothing was changed",
        )


def refuse_foreign(snapshot: Snapshot) -> None:
    """Raise an error for a commit that is not a state, such as one of the project's code. Raises: Failed."""
    if snapshot.commit is not None and snapshot.oid(FORMAT_FILE) is None:
        raise Failed(
            f"{STATE_REF} names {snapshot.commit[:12]}, which has no state of git nexus (no {FORMAT_FILE})",
            hint="git nexus doctor --fix puts it back where it was; nothing was changed",
            fix="git nexus doctor --fix",
        )
