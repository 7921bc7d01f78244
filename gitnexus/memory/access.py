"""Who read which note, and how often: one line a file in `.nexus/state/<harness>/memory-access.jsonl`.

Only reads are noted, one at a time and under a lock; a line that does not parse is somebody else's and stays.
"""

import contextlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gitnexus.base.canonical import document, parse
from gitnexus.base.clock import precise
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.git.worktrees import worktrees
from gitnexus.memory.accesslog import LOCK, LOG, SINCE, upserted
from gitnexus.memory.model import Access, Use
from gitnexus.memory.notes import FOLDER, Notes
from gitnexus.state.layout import SESSION_FOLDER

_HARNESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def count_read(notes: Notes, name: str) -> str | None:
    """Note that a note was read through us; return why that could not be noted. Nobody is kept from reading by it."""
    try:
        observe(notes, [name])
    except NexusError as exc:
        return exc.message
    except OSError as exc:
        return exc.strerror or str(exc)
    return None


def observe(notes: Notes, names: Sequence[str], *, by_hook: bool = False) -> None:
    """Note that these notes were read just now; a hook that tells it proves that the harness is observed.

    Raises: NexusError, OSError.
    """
    local = notes.local
    if local is None or not names or not _HARNESS.fullmatch(local.harness):
        return
    parts = [SESSION_FOLDER, local.harness]
    paths = [str(local.folder / FOLDER / f"{name}.md") for name in names]
    with local.exclusive(LOCK):
        before = local.load("/".join([*parts, LOG])) or b""
        moment = precise(notes.clock())
        if by_hook and local.load("/".join([*parts, SINCE])) is None:
            local.put_bytes(parts, SINCE, document({"since": moment}))
        local.put_bytes(parts, LOG, upserted(before, paths, moment, notes.reader or "unknown"))


def observed_since(notes: Notes) -> datetime | None:
    """Return since when the hooks of this harness tell of reads in this worktree, None if they never did."""
    local = notes.local
    if local is None or not _HARNESS.fullmatch(local.harness):
        return None
    try:
        value = parse(local.load(f"{SESSION_FOLDER}/{local.harness}/{SINCE}") or b"null")
    except Invalid:
        return None
    return _moment(str(value.get("since"))) if isinstance(value, dict) else None


def uses(notes: Notes) -> dict[str, Use]:
    """Return what is known of every note's use: all harnesses of all worktrees of this repository, summed."""
    found: dict[str, Use] = {}
    for worktree in worktrees(notes.state.repo):
        folder = worktree.path / ".nexus"
        for raw in _logs(folder):
            for row in filter(None, map(_row, raw.split(b"\n"))):
                path = Path(row.path)
                if path.parent.name == FOLDER and path.parent.parent.name == ".nexus":
                    name = path.name.removesuffix(".md")
                    found[name] = _sum(found.get(name, Use()), row)
    return found


def _logs(folder: Path) -> list[bytes]:
    from gitnexus.state import disk

    try:
        with disk.folder(folder, [SESSION_FOLDER]):
            harnesses = sorted(row.name for row in (folder / SESSION_FOLDER).iterdir())
    except (OSError, disk.Obstructed):
        return []
    logs = []
    for harness in harnesses:
        with contextlib.suppress(OSError, disk.Obstructed):
            held = disk.load_path(folder, f"{SESSION_FOLDER}/{harness}/{LOG}", 64 * 1024 * 1024)
            if held:
                logs.append(held[0])
    return logs


def _sum(use: Use, row: Access) -> Use:
    moment = _moment(row.last_accessed_ts)
    newer = moment is not None and (use.last is None or moment > use.last)
    return Use(
        use.count + max(0, row.access_count),
        moment if newer else use.last,
        row.last_agent if newer else use.reader or row.last_agent,
    )


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _row(line: bytes) -> Access | None:
    try:
        return Access.from_value(parse(line), LOG) if line.strip() else None
    except Invalid:
        return None
