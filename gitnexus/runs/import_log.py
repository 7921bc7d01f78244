"""A run that was begun elsewhere, made to be gone on with here: its log, its definition and its artifacts from its ref.

What the log says is proved by its chain and its definition; whose approvals count is proved again where they are used.
"""

from pathlib import Path

from gitnexus.app.recorder import folder_of
from gitnexus.base.errors import Failed, NexusError, VerificationFailed
from gitnexus.base.files import make_private_folder, replace
from gitnexus.events.artifacts import FOLDER, file_name
from gitnexus.events.chain import walk
from gitnexus.events.checkpoint import Checkpoint, at_commit, load
from gitnexus.events.log import FILE
from gitnexus.git import Objects
from gitnexus.runs.model import Run

WORKFLOW = "workflow.json"
# In a run's folder while a worker holds its lease: nobody but that worker publishes it.
LEASED = "leased"
# In a run's folder: up to which event its log came from elsewhere. What follows was written by this machine.
ARRIVED = "arrived"


def arrived(common_dir: Path, objects: Objects, run: Run, head: Path) -> bool:
    """Make the folder of a run from its ref, if it is not here; False if it is, or nothing is known of it.

    Raises: VerificationFailed, Invalid.
    """
    folder = folder_of(common_dir, run.id)
    if (folder / FILE).exists() or head.exists():
        return False
    kept = load(objects, run.id)
    if kept is None:
        return False
    _fill(folder, kept, run)
    return True


def brought_up(common_dir: Path, objects: Objects, run: Run, head: Path) -> bool:
    """Bring the folder of a run to what its ref says, where another went on with it; False if ours says as much.

    What was here and is not part of that is set aside.

    Raises: VerificationFailed, Invalid, Failed.
    """
    folder = folder_of(common_dir, run.id)
    kept = load(objects, run.id)
    if kept is None:
        return False
    if arrived(common_dir, objects, run, head):
        return True
    here = (folder / FILE).read_bytes() if (folder / FILE).exists() else b""
    if here.startswith(kept.raw()):
        return False
    if kept.raw().startswith(_without_marks(here)):
        head.unlink(missing_ok=True)
        _fill(folder, kept, run)
        return True
    for number in range(1, 1000):
        aside = folder.with_name(f"{folder.name}.left-{number}")
        if not aside.exists():
            folder.rename(aside)
            break
    else:
        raise Failed(f"too many versions of {run.id} are left in {folder.parent}")
    head.unlink(missing_ok=True)
    _fill(folder, kept, run)
    return True


def goes_on(common_dir: Path, objects: Objects, run: str, commit: str) -> bool:
    """True if a log on a commit goes on from the one that is kept here, or none is. Raises: NexusError."""
    file = folder_of(common_dir, run) / FILE
    if not file.exists():
        return True
    if (file.parent / LEASED).exists():
        return False
    try:
        theirs = at_commit(objects, run, commit).raw()
    except NexusError:
        return False
    return theirs.startswith(_without_marks(file.read_bytes()))


def is_continued(kept: bytes, here: bytes) -> bool:
    """True if the log that lies here says all that a ref holds."""
    return bool(here) and (here.startswith(kept) or _without_marks(here) == kept)


def arrived_upto(folder: Path) -> tuple[int, str]:
    """Return the last event of a run's log that came from elsewhere, with its digest; 0 if none did."""
    try:
        seq, digest = (folder / ARRIVED).read_text(encoding="ascii").split()
        return int(seq), digest
    except (OSError, ValueError):
        return 0, ""


def _without_marks(raw: bytes) -> bytes:
    """Return a log without the last lines that only tell of its checkpoints: no ref holds those of its own commit."""
    lines = raw.splitlines(keepends=True)
    while lines and b'"run.checkpointed"' in lines[-1]:
        lines.pop()
    return b"".join(lines)


def _fill(folder: Path, kept: Checkpoint, run: Run) -> None:
    raw = kept.raw()
    links = list(walk(raw, run.id))
    if not links or links[0].event.body.get("definition") != run.definition:
        raise VerificationFailed(f"the log of {run.id} is of another run than its record")
    make_private_folder(folder)
    (folder / FOLDER).mkdir(exist_ok=True, mode=0o700)
    for name in kept.names(FOLDER):
        digest = f"sha256:{name}"
        replace(folder / FOLDER / file_name(digest), kept.artifact(digest), 0o600)
    replace(folder / WORKFLOW, kept.workflow(), 0o600)
    replace(folder / ARRIVED, f"{links[-1].event.seq} {links[-1].digest}\n".encode(), 0o600)
    replace(folder / FILE, raw, 0o600)  # last: with it the run is here
