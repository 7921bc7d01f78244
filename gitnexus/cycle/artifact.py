"""Lists and writes artifacts: files that agents leave for each other, below one folder only."""

import os
from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.cycle.session import ARTIFACTS, Session
from gitnexus.git.shape import why_git_may_obey
from gitnexus.redaction.stored import redact_file, redact_text
from gitnexus.state import disk
from gitnexus.state.layout import SESSION_FOLDER, why_path_unsafe


def list_artifacts(session: Session, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the artifacts of this session by name."""
    root = session.folder / SESSION_FOLDER / ARTIFACTS
    try:
        with disk.open_folder(session.folder, [SESSION_FOLDER, ARTIFACTS]):
            names = frozenset(os.listdir(root))
    except FileNotFoundError:
        names = frozenset()
    found = sorted((name, stat) for name, stat in disk.scan_files(root, names) if stat is not None)
    return {"artifacts": [{"filename": name, "size": stat.size} for name, stat in found]}


def write_artifact(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Write one artifact without its secrets; what leads elsewhere, and what git would obey, is refused."""
    name = params["filename"]
    unsafe = why_path_unsafe(name)
    if unsafe:
        raise Invalid(f"filename {name[:80]!r} is refused: {unsafe}")
    if (obeyed := why_git_may_obey(name, params["content"])) is not None:
        raise Invalid(f"filename {name[:80]!r} is refused: {obeyed}")
    *folders, last = name.split("/")
    if redact_text(name, values=False) != name:
        raise Invalid("filename is refused: it holds a secret")
    parts = [SESSION_FOLDER, ARTIFACTS, *folders]
    try:
        data = params["content"].encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Invalid("content holds an unpaired surrogate") from exc
    with session.exclusive():
        session.put_bytes(parts, last, redact_file(last, data))
    return {"success": True, "path": str(session.folder.joinpath(*parts, last))}
