"""Converts a program's requested call into a request for the gate: trees for files, words for commands."""

import os
from collections.abc import Mapping
from pathlib import Path

from gitnexus.adapters.live.protocol import FileDiff, PendingCall
from gitnexus.base import hunks
from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid
from gitnexus.base.text import is_utf8_name, one_line
from gitnexus.gateway.commanding import CommandAction
from gitnexus.gateway.paths import patch_refusals, repository_refusals
from gitnexus.git.private import private_git
from gitnexus.git.worktree_tree import UnfitForTree, read_plain_file
from gitnexus.harness.call_files import read_paths
from gitnexus.harness.calls import Call, HarmlessCall, McpCall, ReadCall, ShellCall, WriteCall, parse_tool_call
from gitnexus.harness.written_content import content_after_write
from gitnexus.policy import shell
from gitnexus.policy.compiled_rules import why_unreadable
from gitnexus.policy.denied_reads import DeniedReads, describe_denied_file
from gitnexus.policy.model import CommandRequest, GateDecision, Network, PatchRequest
from gitnexus.policy.programs import inner_text
from gitnexus.redaction.stored import holds_secret
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.actions.propose import patch_request
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.open_run import OpenRun

_LARGEST = 16 * 2**20


def parse_asked_call(run: OpenRun, harness: str, pending: PendingCall) -> Call | dict[str, bytes | None]:
    """Return the effect of a call: the resulting files by path, or another call. Raises: Invalid, Conflict."""
    if pending.diffs:
        return _files_from_diffs(run, pending.diffs)
    call = parse_tool_call(harness, pending.tool, pending.given, pending.cwd or str(run.worktree_path))
    if isinstance(call, WriteCall):
        path = _relative_worktree_path(run, call.path)
        return {path: content_after_write(call, _read_worktree_file(run, path) if call.edits else None)}
    return call


def answer_without_person(run: OpenRun, call: Call) -> tuple[bool, str] | None:
    """Return the answer to a call that needs no approval, None for a command."""
    match call:
        case ShellCall():
            return None
        case HarmlessCall():
            return True, ""
        case ReadCall():
            policy = run.policy()
            for path in read_paths(call):
                # The sandbox controls access outside the worktree.
                below = (
                    os.path.relpath(os.path.realpath(path), run.worktree_path) if _is_in_worktree(run, path) else "."
                )
                if below != "." and (rule := why_unreadable(policy, below)):
                    return False, f"{rule}: this file is not read"
                is_search = call.patterns or Path(path).is_dir()
                found = (
                    DeniedReads(policy, str(run.worktree_path)).find_in_search(path, call.patterns)
                    if is_search
                    else None
                )
                if found is not None:
                    return False, describe_denied_file(found, str(run.worktree_path))
            return True, ""
        case McpCall() if call.server == "nexus":
            return True, ""  # it goes through its own gate
    return False, "a run does not have this tool; ask a person with the tool ask of the server nexus"


def patch_request_for_files(run: OpenRun, files: Mapping[str, bytes | None], role: str) -> PatchRequest | None:
    """Return the request to give files this content on the run's branch, None if they have it. Raises: NexusError."""
    from gitnexus.git.edited_tree import tree_with_files

    with private_git(run.worktree) as git:
        made = tree_with_files(git, branch_tip(run), files)
        if not made.changes:
            return None
        wrong = patch_refusals(made.changes, (entry.path for entry in made.present), {})
        for path, _, why in (*wrong, *repository_refusals(git, made.changes)):
            raise Invalid(f"{one_line(path, 80)!r} is refused: {why}")
        git.keep(made.result_tree)
        return patch_request(run, made.base, made.base_tree, made.result_tree, made.changes, role)


def command_request_for_shell(run: OpenRun, call: ShellCall, network: Network, role: str) -> CommandRequest:
    """Return the request to run a shell script or command as the program would. Raises: NexusError."""
    if call.typed:
        raise Invalid("a run has no input to a command that runs already", hint="run one command with all its words")
    argv = call.argv or ("bash", "-c", call.text)
    if holds_secret(argv):
        raise Invalid("it holds a secret, which would be stored in the log", hint="read it from its file")
    if not _is_in_worktree(run, call.cwd):
        raise Invalid(f"run it in the folder of the work, {run.worktree_path}")
    below = os.path.relpath(os.path.realpath(call.cwd), run.worktree_path)
    action = CommandAction(tool_context_for(run, role), argv, "", cwd="" if below == "." else below, network=network)
    with action.prepared() as (request, _):
        if not isinstance(request, CommandRequest):
            raise Invalid("it is not a command")
        return request


def refused_inner_command(run: OpenRun, request: CommandRequest) -> GateDecision | None:
    """Return the gate's denial of a command inside a shell script; questions are asked about the whole script."""
    text = inner_text(request.argv)
    if text is None:
        return None
    try:
        script = shell.parse_shell_text(text)
    except shell.TooMuch as exc:
        raise DeniedByPolicy("it is too long or too deep to be examined") from exc
    gatekeeper = run.make_gatekeeper()
    for part in script.commands:
        if part.argv and part.argv[0]:
            found = gatekeeper.decide(request.changed(argv=part.argv))
            if found.verdict == "deny":
                return found
    return None


def _files_from_diffs(run: OpenRun, diffs: tuple[FileDiff, ...]) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for diff in diffs:
        path = _relative_worktree_path(run, diff.path)
        match diff.how:
            case "gone":
                found[path] = None
            case "whole":
                found[path] = _encode_text(diff.text)
            case "hunks":
                made = _encode_text(hunks.apply_hunks(_read_worktree_text(run, path), diff.text))
                if diff.moved:
                    found[path] = None
                    path = _relative_worktree_path(run, diff.moved)
                found[path] = made
    return found


def _read_worktree_file(run: OpenRun, below: str) -> bytes | None:
    """Return the content of a file of the worktree, None if it does not exist. Raises: Conflict."""
    path = Path(run.worktree_path, below)
    if not os.path.lexists(path):
        return None
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return read_plain_file(folder, path.name, _LARGEST)
        finally:
            os.close(folder)
    except (OSError, UnfitForTree) as exc:
        raise Conflict(f"{one_line(below, 80)} cannot be read as text") from exc


def _read_worktree_text(run: OpenRun, below: str) -> str:
    """Return a file of the worktree as text. Raises: Conflict."""
    raw = _read_worktree_file(run, below)
    try:
        if raw is not None:
            return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise Conflict(f"{one_line(below, 80)} cannot be read as text") from exc
    raise Conflict(f"{one_line(below, 80)} does not exist")


def _encode_text(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Invalid("it holds an unpaired surrogate") from exc


def _relative_worktree_path(run: OpenRun, path: str) -> str:
    """Return a path relative to the top of the worktree, with linked folders resolved. Raises: Invalid."""
    folder, name = os.path.split(path)
    if folder.startswith("/") and name and _is_in_worktree(run, path) and _is_in_worktree(run, folder):
        real = Path(os.path.realpath(folder), name)
        if not real.is_symlink() and name not in (".", ".."):
            return str(real.relative_to(run.worktree_path))
    raise Invalid(f"{one_line(path, 80)!r} is not a file of the worktree", hint=f"that is {run.worktree_path}")


def _is_in_worktree(run: OpenRun, path: str) -> bool:
    if "\0" in path or not is_utf8_name(path):
        return False
    return Path(os.path.realpath(path)).is_relative_to(run.worktree_path)
