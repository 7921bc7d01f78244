"""Creates or updates the local folder of a run from the log, definition and artifacts stored on its ref.

The hash chain and the definition prove the log; approvals are verified again where they are used.
"""

from pathlib import Path

from gitnexus.base.errors import Failed, NexusError, VerificationFailed
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.events.anchor import HeadFile
from gitnexus.events.artifacts import FOLDER, artifact_file_name
from gitnexus.events.chain import walk_chain
from gitnexus.events.checkpoint import Checkpoint, checkpoint_at_commit, load_checkpoint
from gitnexus.events.log import FILE
from gitnexus.gateway.recorder import run_folder
from gitnexus.git import Objects
from gitnexus.runs.logs import archived_log, kept_log
from gitnexus.runs.model import Run

WORKFLOW = "workflow.json"
# Present in a run's folder while a worker holds its lease: only that worker publishes the run.
LEASED = "leased"
# File in a run's folder with the last imported event. Later events were written by this machine.
ARRIVED = "arrived"


def import_log_if_missing(common_dir: Path, objects: Objects, run: Run, head: Path) -> bool:
    """Create the run's folder from its ref; False if it already exists or no ref is known.

    A folder that was here and is gone comes back if the ref holds all of its log.
    Raises: VerificationFailed, Invalid.
    """
    folder = run_folder(common_dir, run.id)
    if (folder / FILE).exists():
        return False
    kept = kept_log(objects, run.id)
    if kept is None:
        return False
    noted = HeadFile(head).read()
    # A ref cannot hold the event about its own commit.
    if noted is not None and noted.seq > kept.head.seq + 1:
        raise VerificationFailed(
            f"the log of {run.id} is gone: it had {noted.seq} events, and its ref holds {kept.head.seq} of them",
            hint=f"restore {folder} from a backup; git nexus cancel or clean would end it without the rest",
        )
    head.unlink(missing_ok=True)
    _write_run_folder(folder, kept, run)
    return True


def update_log_from_ref(common_dir: Path, objects: Objects, run: Run, head: Path, *, replace: bool = False) -> bool:
    """Update the run's folder to its ref where another machine continued it; False if ours is as recent.

    With `replace` a log that goes further than the ref gives way, too. Local files that the ref does not contain are
    set aside. Raises: VerificationFailed, Invalid, Failed.
    """
    folder = run_folder(common_dir, run.id)
    kept = load_checkpoint(objects, run.id)
    if kept is None:
        return False
    if import_log_if_missing(common_dir, objects, run, head):
        return True
    here = (folder / FILE).read_bytes() if (folder / FILE).exists() else b""
    if here.startswith(kept.raw()) and not replace:
        return False
    if kept.raw().startswith(_without_checkpoint_lines(here)):
        head.unlink(missing_ok=True)
        _write_run_folder(folder, kept, run)
        return True
    _set_aside(folder)
    head.unlink(missing_ok=True)
    _write_run_folder(folder, kept, run)
    return True


def update_log_from_archive(common_dir: Path, objects: Objects, run: Run, head: Path, *, replace: bool = False) -> bool:
    """Update the run's folder to the archive where that continues our log; False if it does not.

    Another machine may land and archive a run between two syncs: then its last events are in the archive alone.
    With `replace` a log that it does not continue is set aside. Raises: VerificationFailed, Invalid, Failed.
    """
    folder = run_folder(common_dir, run.id)
    kept = archived_log(objects, run.id)
    if kept is None or not (folder / FILE).exists() or (folder / LEASED).exists():
        return False
    here, raw = (folder / FILE).read_bytes(), kept.raw()
    if here.startswith(raw):
        return False
    if not raw.startswith(_without_checkpoint_lines(here)):
        if not replace:
            return False
        _set_aside(folder)
    head.unlink(missing_ok=True)
    _write_run_folder(folder, kept, run)
    return True


def _set_aside(folder: Path) -> None:
    """Rename a run's folder, so that nothing in it is lost. Raises: Failed."""
    for number in range(1, 1000):
        aside = folder.with_name(f"{folder.name}.left-{number}")
        if not aside.exists():
            folder.rename(aside)
            return
    raise Failed(f"too many versions of {folder.name} are left in {folder.parent}")


def extends_local_log(common_dir: Path, objects: Objects, run: str, commit: str) -> bool:
    """True if the log at a commit continues the local one, or there is no local one. Raises: NexusError."""
    file = run_folder(common_dir, run) / FILE
    if not file.exists():
        return True
    if (file.parent / LEASED).exists():
        return False
    try:
        theirs = checkpoint_at_commit(objects, run, commit).raw()
    except NexusError:
        return False
    return theirs.startswith(_without_checkpoint_lines(file.read_bytes()))


def includes_log(kept: bytes, here: bytes) -> bool:
    """True if the local log contains everything that the ref holds."""
    return bool(here) and (here.startswith(kept) or _without_checkpoint_lines(here) == kept)


def last_imported_event(folder: Path) -> tuple[int, str]:
    """Return number and digest of the last imported event of a run's log; number 0 if none was imported."""
    try:
        seq, digest = (folder / ARRIVED).read_text(encoding="ascii").split()
        return int(seq), digest
    except (OSError, ValueError):
        return 0, ""


def has_local_events(folder: Path) -> bool:
    """True if this machine wrote to a run's log after what it imported, or may do so as the worker that holds it."""
    if (folder / LEASED).exists():
        return True
    try:
        return _without_checkpoint_lines((folder / FILE).read_bytes()).count(b"\n") > last_imported_event(folder)[0]
    except FileNotFoundError:
        return False


def _without_checkpoint_lines(raw: bytes) -> bytes:
    """Return a log without its trailing checkpoint events: a ref cannot contain the event about its own commit."""
    lines = raw.splitlines(keepends=True)
    while lines and b'"run.checkpointed"' in lines[-1]:
        lines.pop()
    return b"".join(lines)


def _write_run_folder(folder: Path, kept: Checkpoint, run: Run) -> None:
    raw = kept.raw()
    links = list(walk_chain(raw, run.id))
    if not links or links[0].event.body.get("definition") != run.definition:
        raise VerificationFailed(f"the log of {run.id} is of another run than its record")
    make_private_folder(folder)
    (folder / FOLDER).mkdir(exist_ok=True, mode=0o700)
    for name in kept.names(FOLDER):
        digest = f"sha256:{name}"
        replace_file(folder / FOLDER / artifact_file_name(digest), kept.artifact(digest), 0o600)
    replace_file(folder / WORKFLOW, kept.workflow(), 0o600)
    replace_file(folder / ARRIVED, f"{links[-1].event.seq} {links[-1].digest}\n".encode(), 0o600)
    replace_file(folder / FILE, raw, 0o600)  # written last: the log marks the folder as complete
