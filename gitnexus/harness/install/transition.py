"""From what is installed to what should be: every file prepared first, then all of them written."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitnexus import __version__
from gitnexus.base.errors import Conflict, Invalid
from gitnexus.base.files import replace
from gitnexus.harness.install import edits
from gitnexus.harness.install.model import Append, Held, Installed, Piece, Program, Put, Want
from gitnexus.harness.install.record import Shelf, read_text


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file as it is and as it will be; None where there is none."""

    path: Path
    before: str | None
    after: str | None


@dataclass(slots=True)
class Prepared:
    """All that a command would do, while nothing is done yet."""

    shelf: Shelf
    record: Installed
    changes: list[FileChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def plan_digest(wants: Sequence[Want]) -> str:
    """Return what tells one plan from another: of another version, or with other roles."""
    return hashlib.sha256(repr([(str(want.path), want.kind, want.pieces) for want in wants]).encode()).hexdigest()[:16]


def prepared(shelf: Shelf, harness: str, wants: Sequence[Want] | None) -> Prepared:
    """Return what it takes to have a program installed, or with None to have it out. Raises: Invalid."""
    record = shelf.read()
    out = Prepared(shelf, record)
    wanted = {shelf.named(want.path): want for want in _settled(shelf, wants or ())}
    known = [held.path for held in record.files if harness in held.owners]
    adopting = harness not in record.harnesses and _is_there(wanted.values(), harness)
    files = {held.path: held for held in record.files}
    for name in dict.fromkeys([*known, *wanted]):
        held = _changed(out, harness, name, files.get(name), wanted.get(name), adopting)
        files.pop(name, None)
        if held is not None:
            files[name] = held
    harnesses = {key: value for key, value in record.harnesses.items() if key != harness}
    if wants is not None:
        harnesses[harness] = Program(version=__version__, plan=plan_digest(wants))
    over = _folders_of(shelf, [want.path for want in wanted.values() if adopting and want.kind == "whole"])
    folders = dict.fromkeys([*record.folders, *over, *_new_folders(shelf, out.changes)])
    out.record = Installed(harnesses=harnesses, files=tuple(files.values()), folders=tuple(folders))
    return out


def removed_by_sight(shelf: Shelf, harness: str, wants: Sequence[Want]) -> Prepared:
    """Return what it takes to remove what nobody wrote down, as in a clone: all that we know again by its form."""
    out = Prepared(shelf, shelf.read())
    for want in _settled(shelf, wants):
        now = read_text(want.path)
        if now is None:
            continue
        rest = _stripped(str(want.path), now, want, harness)
        goes = (
            edits.present(now, "whole", want.pieces, harness)
            if want.kind == "whole"
            else _is_empty(rest) and rest != now
        )
        if goes or rest != now:
            out.changes.append(FileChange(want.path, now, None if goes else rest))
    # Git keeps no empty folder, so one that these files leave empty was theirs alone.
    left = _folders_of(shelf, [change.path for change in out.changes if change.after is None])
    out.record = out.record.changed(folders=tuple(dict.fromkeys([*out.record.folders, *left])))
    return out


def commit(prepared: Prepared) -> None:
    """Write every file, each at once, with a note beside them that says so until all are written. Raises: Conflict."""
    shelf = prepared.shelf
    with shelf.alone():
        for change in prepared.changes:
            if read_text(change.path) != change.before:
                raise Conflict(f"{change.path} changed meanwhile; nothing was written", hint="run the command again")
            _refuse_what_cannot_be_written(change.path)
        shelf.begin(prepared.record)
        for change in prepared.changes:
            if change.after is None:
                change.path.unlink(missing_ok=True)
            else:
                replace(change.path, change.after.encode())
        shelf.finish(prepared.record.changed(folders=_swept(shelf, prepared.record)))


def _changed(
    out: Prepared, harness: str, name: str, held: Held | None, want: Want | None, adopting: bool
) -> Held | None:
    """Prepare one file; return what we will have in it."""
    path = want.path if want is not None else out.shelf.root / name
    now = read_text(path)
    others = tuple(owner for owner in (held.owners if held else ()) if owner != harness)
    if held is not None and others and (want is None or held.kind == "markdown") and now is not None:
        # A block that two programs read is one block; it goes with the last of them.
        return held.changed(owners=(*others, harness) if want is not None else others)
    base = now
    if held is not None:
        base, word = edits.undone(str(path), held, now)
        out.notes += [word] if word else []
        if word and want is None:
            return None
    elif adopting and want is not None and now is not None:
        rest = _stripped(str(path), now, want, harness)
        base = None if rest != now and _is_empty(rest) else rest
    if want is None:
        if base != now:
            out.changes.append(FileChange(path, now, base))
        return None
    done = edits.applied(str(path), base, want.kind, want.pieces)
    out.notes += done.kept
    if want.strict and passed_over(done.text):
        out.notes.append(f"{path} has a comment or a comma too many: the program passes over the whole file")
    # A file that we write anew was never anybody else's.
    created = base is None or done.whole
    after = done.text if done.has_ours or base is not None else None
    if after != now:
        out.changes.append(FileChange(path, now, after))
    if not done.has_ours:
        return None
    return Held(
        path=name,
        kind=want.kind,
        owners=(*others, harness),
        before=None if created else edits.digest(base),
        after=edits.digest(done.text) or "",
        inserted=tuple(tuple(one) for one in done.inserted),
        puts=tuple(done.puts),
        appends=tuple(done.appends),
        made=tuple(done.made),
    )


def _settled(shelf: Shelf, wants: Sequence[Want]) -> list[Want]:
    """Return the wants with links followed, those of one file together: CLAUDE.md may be a link to AGENTS.md."""
    merged: dict[Path, Want] = {}
    for want in wants:
        path = want.path.resolve()
        if want.path.is_relative_to(shelf.root) and not path.is_relative_to(shelf.root.resolve()):
            raise Invalid(
                f"{want.path} leads out of {shelf.root}",
                hint="nothing was changed; make it a file or folder of its own",
            )
        if path.is_relative_to(shelf.root.resolve()):
            path = shelf.root / path.relative_to(shelf.root.resolve())
        before = merged.get(path)
        pieces: tuple[Piece, ...] = want.pieces
        if before is not None:
            pieces = (*before.pieces, *(piece for piece in want.pieces if piece not in before.pieces))
        merged[path] = Want(path, want.kind, pieces, want.strict)
    return list(merged.values())


def _is_there(wants: Iterable[Want], harness: str) -> bool:
    """True if this program is installed here already, though not by this clone."""
    return any(
        edits.present(read_text(want.path), want.kind, want.pieces, harness)
        for want in wants
        if want.kind in ("whole", "json")
    )


def _stripped(where: str, now: str, want: Want, harness: str) -> str:
    puts = [piece.keys for piece in want.pieces if isinstance(piece, Put) and not piece.only_new]
    appends = [piece.keys for piece in want.pieces if isinstance(piece, Append)]
    made = {keys[:depth] for keys in [*(keys[:-1] for keys in puts), *appends] for depth in range(1, len(keys) + 1)}
    rest = edits.stripped(where, now, want.kind, puts, appends, [], [harness], every=False)
    # Only what we emptied goes: an empty object of somebody else's stays.
    return edits.stripped(where, rest, want.kind, [], [], made, [], every=False) if rest != now else now


def passed_over(text: str | None) -> bool:
    """True for JSON that only a forgiving reader takes."""
    try:
        json.loads((text or "{}").removeprefix("\ufeff"))
    except ValueError:
        return True
    return False


def _is_empty(text: str) -> bool:
    return text.strip("\ufeff \t\r\n") in ("", "{}")


def _folders_of(shelf: Shelf, paths: Sequence[Path]) -> list[str]:
    """Return the folders above these files, below the root."""
    found = dict.fromkeys(folder for path in paths for folder in path.parents if shelf.root in folder.parents)
    return [shelf.named(folder) for folder in found]


def _new_folders(shelf: Shelf, changes: Sequence[FileChange]) -> list[str]:
    """Return the folders that will have to be made, the outer before the inner."""
    found: list[Path] = []
    for change in changes:
        if change.after is not None and change.before is None:
            missing = [folder for folder in change.path.parents if not folder.exists()]
            found += [folder for folder in reversed(missing) if folder not in found]
    return [shelf.named(folder) for folder in found]


def _swept(shelf: Shelf, record: Installed) -> tuple[str, ...]:
    """Remove the folders of ours that are empty; return those that are not."""
    left = []
    for name in sorted(record.folders, key=lambda name: name.count("/"), reverse=True):
        folder = shelf.root / name
        with contextlib.suppress(OSError):
            folder.rmdir()
        if folder.is_dir() and record.files:
            left.append(name)
    return tuple(reversed(left))


def _refuse_what_cannot_be_written(path: Path) -> None:
    folder = next(folder for folder in path.parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise Invalid(f"{folder} cannot be written to", hint="nothing was changed")
