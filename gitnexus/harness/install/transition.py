"""Computes and writes the change from the installed state to the wanted one: all files prepared first, then written."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitnexus import __version__
from gitnexus.base.errors import Conflict, Invalid
from gitnexus.base.files import replace_file
from gitnexus.harness.install import edits
from gitnexus.harness.install.model import Append, HeldFile, InstallRecord, Piece, ProgramRecord, Put, WantedFile
from gitnexus.harness.install.record import InstallStore, read_text_or_none


@dataclass(frozen=True, slots=True)
class InstallFileChange:
    """One file before and after; None if it does not exist."""

    path: Path
    before: str | None
    after: str | None


@dataclass(slots=True)
class PreparedInstall:
    """Everything a command would change; nothing is written yet."""

    store: InstallStore
    record: InstallRecord
    changes: list[InstallFileChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def install_plan_digest(wants: Sequence[WantedFile]) -> str:
    """Return a digest of a plan, which differs for another version or other roles."""
    return hashlib.sha256(repr([(str(want.path), want.kind, want.pieces) for want in wants]).encode()).hexdigest()[:16]


def prepare_install(store: InstallStore, harness: str, wants: Sequence[WantedFile] | None) -> PreparedInstall:
    """Return the changes that install a program, or with None remove it. Raises: Invalid."""
    record = store.read()
    out = PreparedInstall(store, record)
    wanted = {store.named(want.path): want for want in _merge_wants_by_file(store, wants or ())}
    known = [held.path for held in record.files if harness in held.owners]
    adopting = harness not in record.harnesses and _is_already_installed(wanted.values(), harness)
    files = {held.path: held for held in record.files}
    for name in dict.fromkeys([*known, *wanted]):
        held = _prepare_file_change(out, harness, name, files.get(name), wanted.get(name), adopting)
        files.pop(name, None)
        if held is not None:
            files[name] = held
    harnesses = {key: value for key, value in record.harnesses.items() if key != harness}
    if wants is not None:
        harnesses[harness] = ProgramRecord(version=__version__, plan=install_plan_digest(wants))
    over = _folders_above_files(store, [want.path for want in wanted.values() if adopting and want.kind == "whole"])
    folders = dict.fromkeys([*record.folders, *over, *_folders_to_create(store, out.changes)])
    out.record = InstallRecord(harnesses=harnesses, files=tuple(files.values()), folders=tuple(folders))
    return out


def prepare_unrecorded_removal(store: InstallStore, harness: str, wants: Sequence[WantedFile]) -> PreparedInstall:
    """Return the changes that remove an unrecorded installation, as in a clone: everything recognised as ours."""
    out = PreparedInstall(store, store.read())
    for want in _merge_wants_by_file(store, wants):
        now = read_text_or_none(want.path)
        if now is None:
            continue
        rest = _strip_wanted_parts(str(want.path), now, want, harness)
        goes = (
            edits.has_our_parts(now, "whole", want.pieces, harness)
            if want.kind == "whole"
            else _is_empty_text(rest) and rest != now
        )
        if goes or rest != now:
            out.changes.append(InstallFileChange(want.path, now, None if goes else rest))
    # Git keeps no empty folder, so one that these files leave empty was theirs alone.
    left = _folders_above_files(store, [change.path for change in out.changes if change.after is None])
    out.record = out.record.changed(folders=tuple(dict.fromkeys([*out.record.folders, *left])))
    return out


def write_install(prepared: PreparedInstall) -> None:
    """Write every file atomically, with a pending record until all are written. Raises: Conflict."""
    store = prepared.store
    with store.alone():
        for change in prepared.changes:
            if read_text_or_none(change.path) != change.before:
                raise Conflict(f"{change.path} changed meanwhile; nothing was written", hint="run the command again")
            _refuse_unwritable_folder(change.path)
        store.begin(prepared.record)
        for change in prepared.changes:
            if change.after is None:
                change.path.unlink(missing_ok=True)
            else:
                replace_file(change.path, change.after.encode())
        store.finish(prepared.record.changed(folders=_remove_empty_folders(store, prepared.record)))


def _prepare_file_change(
    out: PreparedInstall, harness: str, name: str, held: HeldFile | None, want: WantedFile | None, adopting: bool
) -> HeldFile | None:
    """Prepare one file; return what we will have in it."""
    path = want.path if want is not None else out.store.root / name
    now = read_text_or_none(path)
    others = tuple(owner for owner in (held.owners if held else ()) if owner != harness)
    if held is not None and others and (want is None or held.kind == "markdown") and now is not None:
        # A block that two programs read is one block; it goes with the last of them.
        return held.changed(owners=(*others, harness) if want is not None else others)
    base = now
    if held is not None:
        base, word = edits.undo_insertions(str(path), held, now)
        out.notes += [word] if word else []
        if word and want is None:
            return None
    elif adopting and want is not None and now is not None:
        rest = _strip_wanted_parts(str(path), now, want, harness)
        base = None if rest != now and _is_empty_text(rest) else rest
    if want is None:
        if base != now:
            out.changes.append(InstallFileChange(path, now, base))
        return None
    done = edits.apply_pieces(str(path), base, want.kind, want.pieces)
    out.notes += done.kept
    if want.strict and is_lenient_json(done.text):
        out.notes.append(f"{path} has a comment or a trailing comma: the program ignores the whole file")
    # A file that we create was never anybody else's.
    created = base is None or done.whole
    after = done.text if done.has_ours or base is not None else None
    if after != now:
        out.changes.append(InstallFileChange(path, now, after))
    if not done.has_ours:
        return None
    return HeldFile(
        path=name,
        kind=want.kind,
        owners=(*others, harness),
        before=None if created else edits.text_digest(base),
        after=edits.text_digest(done.text) or "",
        inserted=tuple(tuple(one) for one in done.inserted),
        puts=tuple(done.puts),
        appends=tuple(done.appends),
        made=tuple(done.made),
    )


def _merge_wants_by_file(store: InstallStore, wants: Sequence[WantedFile]) -> list[WantedFile]:
    """Return the wants by real file, links followed: CLAUDE.md may be a link to AGENTS.md."""
    merged: dict[Path, WantedFile] = {}
    for want in wants:
        path = want.path.resolve()
        if want.path.is_relative_to(store.root) and not path.is_relative_to(store.root.resolve()):
            raise Invalid(
                f"{want.path} leads out of {store.root}",
                hint="nothing was changed; make it a separate file or folder",
            )
        if path.is_relative_to(store.root.resolve()):
            path = store.root / path.relative_to(store.root.resolve())
        before = merged.get(path)
        pieces: tuple[Piece, ...] = want.pieces
        if before is not None:
            pieces = (*before.pieces, *(piece for piece in want.pieces if piece not in before.pieces))
        merged[path] = WantedFile(path, want.kind, pieces, want.strict)
    return list(merged.values())


def _is_already_installed(wants: Iterable[WantedFile], harness: str) -> bool:
    """Return True if this program is installed here already, but not by this clone."""
    return any(
        edits.has_our_parts(read_text_or_none(want.path), want.kind, want.pieces, harness)
        for want in wants
        if want.kind in ("whole", "json")
    )


def _strip_wanted_parts(where: str, now: str, want: WantedFile, harness: str) -> str:
    puts = [piece.keys for piece in want.pieces if isinstance(piece, Put) and not piece.only_new]
    appends = [piece.keys for piece in want.pieces if isinstance(piece, Append)]
    made = {keys[:depth] for keys in [*(keys[:-1] for keys in puts), *appends] for depth in range(1, len(keys) + 1)}
    rest = edits.strip_our_parts(where, now, want.kind, puts, appends, [], [harness], every=False)
    # Only what we emptied goes: an empty object of somebody else's stays.
    return edits.strip_our_parts(where, rest, want.kind, [], [], made, [], every=False) if rest != now else now


def is_lenient_json(text: str | None) -> bool:
    """Return True for JSON with comments or trailing commas, which only a lenient parser accepts."""
    try:
        json.loads((text or "{}").removeprefix("\ufeff"))
    except ValueError:
        return True
    return False


def _is_empty_text(text: str) -> bool:
    return text.strip("\ufeff \t\r\n") in ("", "{}")


def _folders_above_files(store: InstallStore, paths: Sequence[Path]) -> list[str]:
    """Return the folders above these files, below the root."""
    found = dict.fromkeys(folder for path in paths for folder in path.parents if store.root in folder.parents)
    return [store.named(folder) for folder in found]


def _folders_to_create(store: InstallStore, changes: Sequence[InstallFileChange]) -> list[str]:
    """Return the folders that must be created, outer before inner."""
    found: list[Path] = []
    for change in changes:
        if change.after is not None and change.before is None:
            missing = [folder for folder in change.path.parents if not folder.exists()]
            found += [folder for folder in reversed(missing) if folder not in found]
    return [store.named(folder) for folder in found]


def _remove_empty_folders(store: InstallStore, record: InstallRecord) -> tuple[str, ...]:
    """Remove the empty folders that we created; return those that are not empty."""
    left = []
    for name in sorted(record.folders, key=lambda name: name.count("/"), reverse=True):
        folder = store.root / name
        with contextlib.suppress(OSError):
            folder.rmdir()
        if folder.is_dir() and record.files:
            left.append(name)
    return tuple(reversed(left))


def _refuse_unwritable_folder(path: Path) -> None:
    folder = next(folder for folder in path.parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise Invalid(f"{folder} cannot be written to", hint="nothing was changed")
