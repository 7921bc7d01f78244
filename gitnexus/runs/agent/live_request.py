"""A call that a program asks about, as the request that the gate judges: trees for files, words for commands."""

import os
from collections.abc import Mapping
from pathlib import Path

from gitnexus.adapters.live.protocol import Asked, FileDiff
from gitnexus.app.harnessgate import read_paths
from gitnexus.app.judgereads import Reach, words_of
from gitnexus.app.runact import bench_for
from gitnexus.app.runcommit import tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import request_of
from gitnexus.base import hunks
from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid
from gitnexus.base.text import is_text, one_line
from gitnexus.gateway.commanding import CommandDeed
from gitnexus.gateway.paths import refusals, shaped_refusals
from gitnexus.git.ondisk import Unfit, content
from gitnexus.git.private import private
from gitnexus.harness.calls import Call, Harmless, Mcp, Reads, Shell, Writes, call_of
from gitnexus.policy import shell
from gitnexus.policy.law import why_unreadable
from gitnexus.policy.model import CommandRequest, Decision, Network, PatchRequest
from gitnexus.redaction.stored import holds_secret

_LARGEST = 16 * 2**20


def call_asked(desk: RunDesk, harness: str, asked: Asked) -> Call | dict[str, bytes | None]:
    """Return what a call would do: files as they would be, by path, or another call. Raises: Invalid, Conflict."""
    if asked.diffs:
        return _of_diffs(desk, asked.diffs)
    call = call_of(harness, asked.tool, asked.given, asked.cwd or str(desk.place))
    if isinstance(call, Writes):
        return {_below(desk, call.path): _of_write(desk, call)}
    return call


def settled(desk: RunDesk, call: Call) -> tuple[bool, str] | None:
    """Return the answer to a call that needs nobody's, None for a command."""
    match call:
        case Shell():
            return None
        case Harmless():
            return True, ""
        case Reads():
            law = desk.keeper().here.law
            for path in read_paths(call):
                # What lies outside is for the sandbox.
                below = os.path.relpath(os.path.realpath(path), desk.place) if _is_inside(desk, path) else "."
                if below != "." and (rule := why_unreadable(law, below)):
                    return False, f"{rule}: this file is not read"
                is_search = call.patterns or Path(path).is_dir()
                found = Reach(law, str(desk.place)).by_search(path, call.patterns) if is_search else None
                if found is not None:
                    return False, words_of(found, str(desk.place))
            return True, ""
        case Mcp() if call.server == "nexus":
            return True, ""  # it has a gate of its own
    return False, "a run does not have this tool; ask a person with the tool ask of the server nexus"


def patch_of(desk: RunDesk, files: Mapping[str, bytes | None], role: str) -> PatchRequest | None:
    """Return the request to have files so on the run's branch, None if they are. Raises: NexusError."""
    from gitnexus.git.written import with_files

    with private(desk.worktree) as git:
        made = with_files(git, tip_of(desk), files)
        if not made.changes:
            return None
        wrong = refusals(made.changes, (entry.path for entry in made.present), {})
        for path, _, why in (*wrong, *shaped_refusals(git, made.changes)):
            raise Invalid(f"{one_line(path, 80)!r} is refused: {why}")
        git.keep(made.result_tree)
        return request_of(desk, made.base, made.base_tree, made.result_tree, made.changes, role)


def command_of(desk: RunDesk, call: Shell, network: Network, role: str) -> CommandRequest:
    """Return the request to run a text of a shell, or words, as the program would. Raises: NexusError."""
    if call.typed:
        raise Invalid("a run has no input to a command that runs already", hint="run one command with all its words")
    argv = call.argv or ("bash", "-c", call.text)
    if holds_secret(argv):
        raise Invalid("it holds a secret, which would be kept in the log", hint="read it from where it lies")
    if not _is_inside(desk, call.cwd):
        raise Invalid(f"run it in the folder of the work, {desk.place}")
    below = os.path.relpath(os.path.realpath(call.cwd), desk.place)
    deed = CommandDeed(bench_for(desk, role), argv, "", cwd="" if below == "." else below, network=network)
    with deed.prepared() as (request, _):
        if not isinstance(request, CommandRequest):
            raise Invalid("it is no command")
        return request


def refused_part(desk: RunDesk, request: CommandRequest) -> Decision | None:
    """Return the gate's no to a command inside of a shell's text. What is only asked about is asked for the whole."""
    text = shell.inner_text(request.argv)
    if text is None:
        return None
    try:
        script = shell.read(text)
    except shell.TooMuch as exc:
        raise DeniedByPolicy("it is too long or too deep to be looked at") from exc
    keeper = desk.keeper()
    for part in script.commands:
        if part.argv and part.argv[0]:
            found = keeper.decide(request.changed(argv=part.argv))
            if found.verdict == "deny":
                return found
    return None


def _of_diffs(desk: RunDesk, diffs: tuple[FileDiff, ...]) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for diff in diffs:
        path = _below(desk, diff.path)
        match diff.how:
            case "gone":
                found[path] = None
            case "whole":
                found[path] = _bytes(diff.text)
            case "hunks":
                made = _bytes(hunks.applied(_text(desk, path), diff.text))
                if diff.moved:
                    found[path] = None
                    path = _below(desk, diff.moved)
                found[path] = made
    return found


def _of_write(desk: RunDesk, call: Writes) -> bytes:
    """Return what a file would hold. Raises: Conflict, Invalid."""
    if call.content is not None:
        return _bytes(call.content)
    if not call.edits:
        raise Invalid("it does not say what the file would be", hint="write it whole, or replace a text in it")
    before = _text(desk, _below(desk, call.path), missing="")
    # These tools work on lines that end in \n, and give a file its own ends back.
    text, crlf = (before.replace("\r\n", "\n"), True) if "\r\n" in before else (before, False)
    for edit in call.edits:
        if edit.old == "" and not text:
            text = edit.new
            continue
        count = text.count(edit.old) if edit.old else 0
        if count == 0 or (count > 1 and not edit.everywhere):
            raise Conflict("the text to be replaced is there " + ("more than once" if count else "nowhere"))
        text = text.replace(edit.old, edit.new)
    return _bytes(text.replace("\n", "\r\n") if crlf else text)


def _text(desk: RunDesk, below: str, missing: str | None = None) -> str:
    """Return a file of the worktree as text. Raises: Conflict."""
    path = Path(desk.place, below)
    if missing is not None and not os.path.lexists(path):
        return missing
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return content(folder, path.name, _LARGEST).decode("utf-8")
        finally:
            os.close(folder)
    except (OSError, Unfit, UnicodeDecodeError) as exc:
        raise Conflict(f"{one_line(below, 80)} cannot be read as text") from exc


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Invalid("it holds half of a surrogate pair") from exc


def _below(desk: RunDesk, path: str) -> str:
    """Return a path from the top of the worktree, folders that are links followed. Raises: Invalid."""
    folder, name = os.path.split(path)
    if folder.startswith("/") and name and _is_inside(desk, path) and _is_inside(desk, folder):
        real = Path(os.path.realpath(folder), name)
        if not real.is_symlink() and name not in (".", ".."):
            return str(real.relative_to(desk.place))
    raise Invalid(f"{one_line(path, 80)!r} is no file of the worktree", hint=f"that is {desk.place}")


def _is_inside(desk: RunDesk, path: str) -> bool:
    if "\0" in path or not is_text(path):
        return False
    return Path(os.path.realpath(path)).is_relative_to(desk.place)
