"""Formats an installation: the diff of a file, one row per program, and the same as JSON."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitnexus.app.harness_install import BEGIN, LAWLESS
from gitnexus.base.text import make_visible, one_line
from gitnexus.harness.model import EVENTS
from gitnexus.harness.protocols.table import NAMES, load_harness_protocol
from gitnexus.ui.output import count_of, format_columns

if TYPE_CHECKING:
    from gitnexus.app.harness_install import InstallOutcome, InstallStatus
    from gitnexus.harness.install.transition import InstallFileChange

_DONE = {"created": "created", "edited": "added to", "deleted": "deleted"}
_UNDONE = {**_DONE, "edited": "restored"}


def file_change_word(change: "InstallFileChange") -> str:
    """Return the word for the change of a file."""
    return "created" if change.before is None else "deleted" if change.after is None else "edited"


def diff_of_change(change: "InstallFileChange") -> str:
    """Return one file's change as a diff."""
    name = str(change.path)
    old, new = [(text or "").splitlines(keepends=True) for text in (change.before, change.after)]
    was, is_ = [name if text is not None else "/dev/null" for text in (change.before, change.after)]
    lines = [
        line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n"
        for line in difflib.unified_diff(old, new, was, is_)
    ]
    return make_visible("".join(lines), keep="\n\t\r").replace("\r\n", "\n")


def outcome_as_json(done: "InstallOutcome", dry_run: bool) -> dict[str, Any]:
    """Return a real or simulated installation as JSON."""
    return {
        "harness": done.row.id,
        "scope": done.scope,
        "dryRun": dry_run,
        "files": [
            {
                "path": str(change.path),
                "change": file_change_word(change),
                **({"diff": diff_of_change(change)} if dry_run else {}),
            }
            for change in done.changes
        ],
        "notes": done.notes,
        "next": done.next,
        "undo": done.undo,
    }


def format_install_outcome(done: "InstallOutcome", dry_run: bool, *, out: bool) -> str:
    """Return an installation as text."""
    name = f"{done.row.name} ({'a plugin folder' if done.is_plugin else f'{done.scope} scope'})"
    if not done.changes:
        nothing = (
            f"{name}: nothing of git nexus is installed." if out else f"{name}: nothing to do, everything is installed."
        )
        return "\n".join([nothing, *(f"  note: {one_line(note, 300)}" for note in done.notes)])
    if dry_run:
        head = f"{name}: {count_of(len(done.changes), 'file')} would change. Nothing was written."
        return "\n".join([head, "", *(diff_of_change(change) for change in done.changes), *_note_lines(done)])
    head = f"{name}: git nexus is removed." if out else f"{name}: git nexus is installed."
    lines = [
        [(_UNDONE if out else _DONE)[file_change_word(change)], _relative_path(change.path)] for change in done.changes
    ]
    undo = [] if out else ["", f"Undo: {done.undo}"]
    then = [f"Next: {done.next}"] if done.next and not out else []
    return make_visible("\n".join([head, format_columns(lines), *_note_lines(done), *undo, *then]))


def _note_lines(done: "InstallOutcome") -> list[str]:
    return [f"  note: {one_line(note, 300)}" for note in done.notes]


def install_status_as_json(one: "InstallStatus") -> dict[str, Any]:
    """Return the installation status of a program as JSON."""
    return {
        "harness": one.row.id,
        "name": one.row.name,
        "scope": one.scope,
        "installed": one.installed,
        "how": one.how,
        "version": one.version or None,
        "stale": one.stale,
        "files": [{"path": file.path, "state": file.state} for file in one.files],
        "events": events_of_harness(one.row.id),
        "project": not one.lawless,
        "waits": one.waits,
        "unprotected": list(one.row.unprotected),
    }


def events_of_harness(harness: str) -> list[dict[str, Any]]:
    """Return the eight events with the program's own names, and the substitute for each that it lacks."""
    if harness not in NAMES:
        return [{"event": event, "names": [], "instead": "nothing: it has none of our hooks"} for event in EVENTS]
    protocol = load_harness_protocol(harness)
    return [
        {
            "event": event,
            "names": list(protocol.events[event]),
            **({"instead": protocol.nearest[event]} if event in protocol.nearest else {}),
        }
        for event in EVENTS
    ]


def format_install_status(one: "InstallStatus") -> str:
    """Return the installation status of a program as text."""
    how = {
        "no": click.style("not installed", dim=True),
        "yes": click.style("installed", fg="green"),
        "half": click.style("half installed: an installation was interrupted", fg="red"),
        "unrecorded": click.style("installed by the person who committed the files", fg="green"),
    }[one.how]
    lines = [f"{one.row.name}, {one.scope} scope: {how}" + (f" (git nexus {one.version})" if one.version else "")]
    if not one.installed:
        return lines[0]
    again = f"git nexus harness install {one.row.id}{_scope_option(one.scope)}"
    lines += [f"  by another version or catalog: {again}"] if one.stale or one.how == "half" else []
    lines += [f"  {file.path}: {file.state}" for file in one.files if file.state != "as installed"]
    waits = [*([f"{BEGIN}, for {LAWLESS}"] if one.lawless else []), *one.waits]
    lines += [click.style(f"  to do: {words}", fg="yellow") for words in waits]
    events = events_of_harness(one.row.id)
    has = [row["event"] for row in events if row["names"]]
    lines += [f"  events: {', '.join(has) or 'none'}"]
    lines += [
        f"  {'instead of ' if not row['names'] else ''}{row['event']}: {row['instead']}"
        for row in events
        if "instead" in row and has
    ]
    lines += [f"  not protected: {words}" for words in one.row.unprotected]
    return make_visible("\n".join(lines), keep="\n\t\x1b")


def _scope_option(scope: str) -> str:
    return " --scope user" if scope == "user" else ""


def _relative_path(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
