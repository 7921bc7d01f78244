"""Stores in the user's home what this machine knows of a project's approvers: first key, chain head and consent.

The pin is named by the repository's location. A repository cannot change it: another root, another project or a
shortened chain is an error until a person trusts it again.
"""

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.base.clock import is_future
from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.base.record import StoredRecord
from gitnexus.policy.repo_key import repository_key
from gitnexus.state.home import home_folder

if TYPE_CHECKING:
    from gitnexus.policy.approvers import Approvers  # not needed for what was verified before


class Pin(StoredRecord):
    """`consent` means that the user accepts these approvers' signatures on this machine.

    `signed` has the time of the newest signature seen for each file: older content is rejected.
    """

    project: str
    root: str
    head: str
    length: int
    consent: bool
    path: str
    signed: dict[str, str] = field(default_factory=dict)


def read_pin(common_dir: Path) -> Pin | None:
    """Return the pin of a repository, None if it was never seen. Raises: Invalid."""
    file = pin_file(common_dir)
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise Invalid(f"{file} cannot be read: {exc.strerror}") from exc
    return Pin.from_bytes(raw, str(file))


def write_pin(
    common_dir: Path, approvers: "Approvers", *, consent: bool, signed: Mapping[str, str] | None = None
) -> Pin:
    """Store the approvers of a repository; known signature times are kept.

    `signed` are signature times seen elsewhere.
    """
    try:
        before = read_pin(common_dir)
    except Invalid:
        before = None
    known = before.signed if before is not None and before.project == approvers.project else {}
    made = Pin(
        project=approvers.project,
        root=approvers.root.key,
        head=approvers.head,
        length=len(approvers.entries),
        consent=consent,
        path=str(common_dir).encode("utf-8", "backslashreplace").decode(),
        signed=newest_signature_times([known, signed or {}]),
    )
    file = pin_file(common_dir)
    make_private_folder(file.parent)
    replace_file(file, made.to_bytes(), 0o600)
    return made


def remove_pin(common_dir: Path) -> bool:
    """Delete the pin of a repository; False if there was none."""
    file = pin_file(common_dir)
    was_there = file.exists()
    file.unlink(missing_ok=True)
    return was_there


def advance_pin(common_dir: Path, held: Pin, approvers: "Approvers") -> Pin:
    """Return the pin moved to the end of a chain that extends the known one. Raises: VerificationFailed."""
    refuse_other_project(held, approvers.project)
    if approvers.root.key != held.root:
        raise _approvers_changed_error(f"the first approver is {approvers.root.key}, and was {held.root}")
    if not goes_on_from(held, approvers):
        raise _approvers_changed_error("entries that were seen here are gone from the list")
    if len(approvers.entries) == held.length:
        return held
    return _save_pin(common_dir, held.changed(head=approvers.head, length=len(approvers.entries)))


def note_signature_time(common_dir: Path, held: Pin, path: str, at: str, today: datetime) -> Pin:
    """Return the pin with the time of a valid signature, never an earlier one. Raises: VerificationFailed.

    A known time in the future came from a wrong clock and is ignored.
    """
    known = held.signed.get(path, "")
    if at < known and not is_future(known, today):
        raise VerificationFailed(f"it is an older version: another was signed {known}", hint="git nexus policy trust")
    return held if at == known else _save_pin(common_dir, held.changed(signed={**held.signed, path: at}))


def _save_pin(common_dir: Path, moved: Pin) -> Pin:
    with contextlib.suppress(OSError):  # the home is not writable: checked again next time
        replace_file(pin_file(common_dir), moved.to_bytes(), 0o600)
    return moved


def refuse_other_project(held: Pin, project: str) -> None:
    """Raise an error if the repository now claims to be another project. Raises: VerificationFailed."""
    if held.project != project:
        raise _approvers_changed_error(
            f"this repository was the project {held.project}, and says now that it is {project}"
        )


def pins_of_project(project: str) -> list[Pin]:
    """Return the pins of all clones of a project on this machine."""
    found = []
    for file in (*sorted(_pins_folder().glob("*.json")), _project_file(project)):
        with contextlib.suppress(Invalid, OSError):
            found.append(Pin.from_bytes(file.read_bytes(), file.name))
    return [other for other in found if other.project == project]


def newest_signature_times(times: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the latest signature time of each file."""
    found: dict[str, str] = {}
    for one in times:
        found |= {path: at for path, at in one.items() if at > found.get(path, "")}
    return found


def remember_project(approvers: "Approvers") -> None:
    """Store the chain head of a project that was pinned by hand on a machine without a clone.

    Raises: VerificationFailed if a longer chain was seen before.
    """
    for held in pins_of_project(approvers.project):
        if held.root == approvers.root.key and not goes_on_from(held, approvers):
            raise _approvers_changed_error("entries that were seen on this machine are gone from the list")
    made = Pin(
        project=approvers.project,
        root=approvers.root.key,
        head=approvers.head,
        length=len(approvers.entries),
        consent=False,
        path="",
    )
    with contextlib.suppress(OSError):
        file = _project_file(approvers.project)
        replace_file(file, made.to_bytes(), 0o600)


def goes_on_from(held: Pin, approvers: "Approvers") -> bool:
    """True if a chain has the pin's root and contains everything seen of it."""
    same_root = approvers.root.key == held.root
    return (
        same_root
        and len(approvers.entries) >= held.length > 0
        and (approvers.entries[held.length - 1].digest() == held.head)
    )


def _approvers_changed_error(words: str) -> VerificationFailed:
    return VerificationFailed(
        f"the approvers are not those that this machine knows: {words}",
        hint="find out who changed them (git nexus log approvers); git nexus approver trust takes them as they are now",
    )


def _pins_folder() -> Path:
    return home_folder() / "trust"


def _project_file(project: str) -> Path:
    return _pins_folder() / "projects" / f"{hashlib.sha256(project.encode()).hexdigest()[:32]}.json"


def pin_file(common_dir: Path) -> Path:
    return _pins_folder() / f"{repository_key(common_dir)}.json"
