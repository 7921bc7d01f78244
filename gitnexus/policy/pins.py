"""What this machine remembers of a project's approvers: the first key, how far the chain was seen, and consent.

It lies in the user's home, named by where the repository lies. Whatever a repository says of itself, it cannot change
that: another root, another project or a chain that lost its end are refused until a person trusts them anew.
"""

import contextlib
from dataclasses import replace as with_fields
from pathlib import Path

from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.files import replace
from gitnexus.base.record import StoredRecord
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.place import mark
from gitnexus.state.home import home_folder


class Pin(StoredRecord):
    """`consent` is a person's word that what these approvers sign counts on this machine."""

    project: str
    root: str
    head: str
    length: int
    consent: bool
    path: str


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


def pin(common_dir: Path, approvers: Approvers, *, consent: bool) -> Pin:
    """Remember the approvers of a repository from now on."""
    made = Pin(
        project=approvers.project,
        root=approvers.root.key,
        head=approvers.head,
        length=len(approvers.entries),
        consent=consent,
        path=str(common_dir).encode("utf-8", "backslashreplace").decode(),
    )
    file = _file(common_dir)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace(file, made.to_bytes(), 0o600)
    return made


def unpin(common_dir: Path) -> bool:
    """Forget the approvers of a repository; False if nothing was remembered."""
    file = _file(common_dir)
    was_there = file.exists()
    file.unlink(missing_ok=True)
    return was_there


def followed(common_dir: Path, held: Pin, approvers: Approvers) -> Pin:
    """Return the pin moved on to the end of a chain that goes on from what was seen. Raises: VerificationFailed."""
    refuse_other_project(held, approvers.project)
    if approvers.root.key != held.root:
        raise _changed(f"the first approver is {approvers.root.key}, and was {held.root}")
    if len(approvers.entries) < held.length or approvers.entries[held.length - 1].digest() != held.head:
        raise _changed("entries that were seen here are gone from the list")
    if len(approvers.entries) == held.length:
        return held
    moved = with_fields(held, head=approvers.head, length=len(approvers.entries))
    with contextlib.suppress(OSError):  # a home that cannot be written: looked at again next time
        replace(_file(common_dir), moved.to_bytes(), 0o600)
    return moved


def refuse_other_project(held: Pin, project: str) -> None:
    """Refuse a repository that calls itself another project than it was. Raises: VerificationFailed."""
    if held.project != project:
        raise _changed(f"this repository was the project {held.project}, and says now that it is {project}")


def consents_elsewhere(project: str, root: str) -> bool:
    """True if a person trusts this root for the same project in another clone on this machine."""
    for file in sorted(_folder().glob("*.json")):
        with contextlib.suppress(Invalid, OSError):
            other = Pin.from_bytes(file.read_bytes(), file.name)
            if (other.project, other.root, other.consent) == (project, root, True):
                return True
    return False


def _changed(words: str) -> VerificationFailed:
    return VerificationFailed(
        f"the approvers are not those that this machine knows: {words}",
        hint="find out who changed them (git nexus log approvers); git nexus approver trust takes them as they are now",
    )


def _folder() -> Path:
    return home_folder() / "trust"


def _file(common_dir: Path) -> Path:
    return _folder() / f"{mark(common_dir)}.json"
