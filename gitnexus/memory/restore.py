"""Restores deleted notes byte for byte from the commits that deleted them."""

from dataclasses import dataclass

from gitnexus.base.errors import BadUsage, Duplicate, NotFound
from gitnexus.git.child import run_git
from gitnexus.memory.count import with_next_rev
from gitnexus.memory.note_history import NoteChange, changes_of_note, iterate_note_changes
from gitnexus.memory.notes import FOLDER, Notes
from gitnexus.state import Change, Snapshot


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The restored notes, and the commit they come from."""

    names: tuple[str, ...]
    source: str


def restore_notes(notes: Notes, name: str | None, commit: str | None) -> RestoreResult:
    """Restore a note as it was before its deletion, or as it was at `commit`; without a name, all notes that it
    deleted.

    Raises: BadUsage, NotFound, Duplicate.
    """
    snapshot = notes.latest()
    if commit is not None:
        found = _resolve_commit(notes, commit)
        files = _files_at_commit(notes, snapshot, found, name)
    elif name:
        found, files = _files_before_deletion(notes, snapshot, name)
    else:
        raise BadUsage("name a note, or use --from COMMIT", hint="git nexus memory restore NAME")
    names = tuple(sorted(path.removeprefix(f"{FOLDER}/").removesuffix(".md") for path in files))

    def decide(now: Snapshot) -> Change[RestoreResult]:
        there = [path for path in files if commit is None and now.read(path) is not None]
        if there:
            raise Duplicate(f"{there[0]} already exists", hint="for an older version: --from COMMIT")
        why = f"memory: restore {names[0] if len(names) == 1 else f'{len(names)} notes'} from {found[:12]}"
        # What comes back is as it was; what goes back to an older text has changed once more.
        back = {
            path: raw if (held := now.read(path)) in (None, raw) else with_next_rev(held, raw)
            for path, raw in files.items()
        }
        return Change(dict(back), why, RestoreResult(names, found))

    return notes.state.transact(decide)


def _files_before_deletion(notes: Notes, snapshot: Snapshot, name: str) -> tuple[str, dict[str, bytes]]:
    life = changes_of_note(notes.state, snapshot, name)
    if snapshot.read(life[0].path) is not None:
        raise Duplicate(
            f"{life[0].path} already exists",
            hint=f"for an older version: git nexus memory restore {name} --from COMMIT (git nexus memory log {name})",
        )
    gone = next((step for step in life if step.what == "deleted" and step.parent), None)
    if gone is None or gone.parent is None:
        raise NotFound(f"no commit shows how {life[0].path} went", hint=f"git nexus memory log {name}")
    return gone.parent, _read_files(notes, gone.parent, [gone.path])


def _files_at_commit(notes: Notes, snapshot: Snapshot, commit: str, name: str | None) -> dict[str, bytes]:
    """Return the files to restore from a commit: all that it deleted, or the named one."""
    deleted: list[NoteChange] = [
        step for step in iterate_note_changes(notes.state, snapshot) if step.commit == commit and step.what == "deleted"
    ]
    if name is None:
        if not deleted:
            raise NotFound(f"{commit[:12]} deleted no notes", hint="git nexus log memory shows the commits")
        return _read_files(notes, deleted[0].parent or commit, [step.path for step in deleted])
    path = f"{FOLDER}/{name.strip().removeprefix(f'{FOLDER}/').removesuffix('.md')}.md"
    gone = next((step for step in deleted if step.path == path), None)
    return _read_files(notes, gone.parent if gone and gone.parent else commit, [path])


def _read_files(notes: Notes, commit: str, paths: list[str]) -> dict[str, bytes]:
    then = Snapshot(notes.state.objects, commit)
    files = {}
    for path in paths:
        raw = then.read(path)
        if raw is None:
            raise NotFound(f"{commit[:12]} holds no {path}", hint="git nexus memory log NAME shows its life")
        files[path] = raw
    return files


def _resolve_commit(notes: Notes, named: str) -> str:
    """Return the full id of a commit in the state's own history. Raises: NotFound."""
    where, tip = notes.state.repo.common_dir, notes.state.snapshot.commit or ""
    asked = run_git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}", git_dir=where)
    found = asked.stdout.decode("ascii", "replace").strip()
    known = found and run_git("merge-base", "--is-ancestor", found, tip, git_dir=where).returncode == 0
    if asked.returncode != 0 or not known:
        raise NotFound(f"the state has no commit {named[:80]!r}", hint="git nexus log memory shows them")
    return found
