"""What this machine remembers of a project's approvers: the first key, how far the chain was seen, and consent.

It lies in the user's home, named by where the repository lies. Whatever a repository says of itself, it cannot change
that: another root, another project or a chain that lost its end are refused until a person trusts them anew.
"""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.base.clock import is_future
from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.files import make_private_folder, replace
from gitnexus.base.record import StoredRecord
from gitnexus.policy.place import mark
from gitnexus.state.home import home_folder

if TYPE_CHECKING:
    from gitnexus.policy.approvers import Approvers  # what was verified before needs neither keys nor the chain


class Pin(StoredRecord):
    """`consent` is a person's word that what these approvers sign counts on this machine.

    `signed` has the time of the newest signature that was seen for each file: an older content stays out.
    """

    project: str
    root: str
    head: str
    length: int
    consent: bool
    path: str
    signed: dict[str, str] = field(default_factory=dict)


def pinned(common_dir: Path) -> Pin | None:
    """Return what is remembered of the repository, None if it was never seen. Raises: Invalid."""
    file = _file(common_dir)
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise Invalid(f"{file} cannot be read: {exc.strerror}") from exc
    return Pin.from_bytes(raw, str(file))


def pin(common_dir: Path, approvers: "Approvers", *, consent: bool, signed: Mapping[str, str] | None = None) -> Pin:
    """Remember the approvers of a repository from now on; the signatures that were seen stay known.

    `signed` is what was seen of them elsewhere.
    """
    try:
        before = pinned(common_dir)
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
        signed=newest([known, signed or {}]),
    )
    file = _file(common_dir)
    make_private_folder(file.parent)
    replace(file, made.to_bytes(), 0o600)
    return made


def unpin(common_dir: Path) -> bool:
    """Forget the approvers of a repository; False if nothing was remembered."""
    file = _file(common_dir)
    was_there = file.exists()
    file.unlink(missing_ok=True)
    return was_there


def followed(common_dir: Path, held: Pin, approvers: "Approvers") -> Pin:
    """Return the pin moved on to the end of a chain that goes on from what was seen. Raises: VerificationFailed."""
    refuse_other_project(held, approvers.project)
    if approvers.root.key != held.root:
        raise _changed(f"the first approver is {approvers.root.key}, and was {held.root}")
    if not goes_on_from(held, approvers):
        raise _changed("entries that were seen here are gone from the list")
    if len(approvers.entries) == held.length:
        return held
    return _moved(common_dir, held.changed(head=approvers.head, length=len(approvers.entries)))


def saw(common_dir: Path, held: Pin, path: str, at: str, today: datetime) -> Pin:
    """Return the pin with the time of a signature that holds, never an earlier one. Raises: VerificationFailed.

    What is known from the future was seen while a clock was wrong: nothing is older than that.
    """
    known = held.signed.get(path, "")
    if at < known and not is_future(known, today):
        raise VerificationFailed(f"it is an older version: another was signed {known}", hint="git nexus policy trust")
    return held if at == known else _moved(common_dir, held.changed(signed={**held.signed, path: at}))


def _moved(common_dir: Path, moved: Pin) -> Pin:
    with contextlib.suppress(OSError):  # a home that cannot be written: looked at again next time
        replace(_file(common_dir), moved.to_bytes(), 0o600)
    return moved


def refuse_other_project(held: Pin, project: str) -> None:
    """Refuse a repository that calls itself another project than it was. Raises: VerificationFailed."""
    if held.project != project:
        raise _changed(f"this repository was the project {held.project}, and says now that it is {project}")


def elsewhere(project: str) -> list[Pin]:
    """Return what is remembered of the same project in all its clones on this machine."""
    found = []
    for file in (*sorted(_folder().glob("*.json")), _project_file(project)):
        with contextlib.suppress(Invalid, OSError):
            found.append(Pin.from_bytes(file.read_bytes(), file.name))
    return [other for other in found if other.project == project]


def newest(times: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return for each file the latest time at which it was signed."""
    found: dict[str, str] = {}
    for one in times:
        found |= {path: at for path, at in one.items() if at > found.get(path, "")}
    return found


def remember_project(approvers: "Approvers") -> None:
    """Keep how far the chain of a project goes that was pinned by hand, on a machine without a clone of its own.

    Raises: VerificationFailed if more of it was seen before.
    """
    for held in elsewhere(approvers.project):
        if held.root == approvers.root.key and not goes_on_from(held, approvers):
            raise _changed("entries that were seen on this machine are gone from the list")
    made = Pin(
        project=approvers.project, root=approvers.root.key, head=approvers.head, length=len(approvers.entries),
        consent=False, path="",
    )  # fmt: skip
    with contextlib.suppress(OSError):
        file = _project_file(approvers.project)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace(file, made.to_bytes(), 0o600)


def goes_on_from(held: Pin, approvers: "Approvers") -> bool:
    """True if a chain has the root of the pin and all that was seen of it."""
    same_root = approvers.root.key == held.root
    return same_root and len(approvers.entries) >= held.length > 0 and (
        approvers.entries[held.length - 1].digest() == held.head
    )  # fmt: skip


def _changed(words: str) -> VerificationFailed:
    return VerificationFailed(
        f"the approvers are not those that this machine knows: {words}",
        hint="find out who changed them (git nexus log approvers); git nexus approver trust takes them as they are now",
    )


def _folder() -> Path:
    return home_folder() / "trust"


def _project_file(project: str) -> Path:
    import hashlib  # 6 ms: not for who only imports this

    return _folder() / "projects" / f"{hashlib.sha256(project.encode()).hexdigest()[:32]}.json"


def _file(common_dir: Path) -> Path:
    return _folder() / f"{mark(common_dir)}.json"
