"""Prepares a run's worktree before its agent starts, as signed settings say: copies files, runs commands, logs each."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gitnexus.adapters.protocol import AgentEvent, AgentLaunch
from gitnexus.base.errors import Failed, NexusError
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.base.randomness import random_hex
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.events.view import RunView
from gitnexus.gateway.sandboxed import WorktreeSandbox
from gitnexus.git.private import private_git
from gitnexus.git.untracked import UntrackedFile, list_untracked_files
from gitnexus.policy.compiled_rules import why_unreadable
from gitnexus.policy.model import Network
from gitnexus.redaction.hide import Redactor, mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.agent.launch import sandbox_spec
from gitnexus.runs.agent.run import Show
from gitnexus.runs.command_rules import refuse_run_command
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.setup_rules import SECTION, FilesToCopy, choose_files_to_copy, may_lie_below, parse_run_settings
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.state.settings import FILE, loosening_keys_in, settings_section
from gitnexus.workflow.run_definition import RunDefinition

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1024 * 1024
_NAMED = 5
_OURS = (f"{SECTION}.copy", f"{SECTION}.setup")


def prepare_worktree(run: OpenRun, definition: RunDefinition, show: Show, network: Network | None) -> str:
    """Prepare the worktree unless that is done; return why it failed, "" on success."""
    done = _ready_file(run)
    if done.exists():
        return ""
    try:
        asked = parse_run_settings(settings_section(run.state.required(), SECTION, run.state.trusts))
        for line in [*_unsigned_settings(run), *copy_untracked_files(run, asked.copy, run.worktree_path)]:
            _log_setup_line(run, show, line)
        for number, argv in enumerate(asked.setup, 1):
            _run_setup_command(run, definition, show, number, argv, network)
    except NexusError as exc:
        return f"the set-up failed: {exc.message}"
    replace_file(done, b"")
    return ""


def forget_preparation(run: OpenRun) -> None:
    """Remove the mark of a prepared worktree. Call it before the files go away, so that a kill does no harm."""
    _ready_file(run).unlink(missing_ok=True)


def failed_in_setup(view: RunView) -> bool:
    """True for a run that ended during its set-up: none of its steps ended."""
    return view.status == "failed" and all(node.status == "started" for node in view.nodes.values())


def _ready_file(run: OpenRun) -> Path:
    # Next to the run's mark: out of the agent's reach, and deleted with the worktree, so a new one is prepared again.
    return run.worktree.git_dir / "nexus" / "ready"


def _log_setup_line(run: OpenRun, show: Show, text: str) -> None:
    words = f"set-up: {mask(text, known_secret_values())}"
    show(AgentEvent(kind="progress", text=words))
    run.log.append("agent.progress", "nexus", {"text": shorten_text(words)})


def _unsigned_settings(run: OpenRun) -> list[str]:
    """Return messages about set-up settings that are ignored because nobody signed them."""
    snapshot = run.state.required()
    raw = snapshot.read(FILE)
    if raw is None or not (keys := [key for key in loosening_keys_in(raw) if key in _OURS]):
        return []
    if run.state.trusts(snapshot, raw):
        return []
    return [f"ignored {' and '.join(keys)}, which nobody signed: git nexus policy trust"]


def copy_untracked_files(run: OpenRun, patterns: tuple[str, ...], place: Path) -> list[str]:
    """Copy the files that match the patterns from the current checkout to a folder; return messages about them.

    Raises: Failed, Invalid.
    """
    if not patterns:
        return []
    checkout = run.repo.worktree
    if checkout is None:
        return ["there is no checkout to copy from"]
    policy = run.policy()
    try:
        with private_git(run.repo) as git:
            found = list_untracked_files(git, checkout, run.record.base, lambda folder: may_lie_below(patterns, folder))
            taken = choose_files_to_copy(patterns, found, lambda path: why_unreadable(policy, path))
        for one in taken.files:
            _copy_file(checkout, place, one)
    except OSError as exc:
        name = one_line(str(exc.filename or "a file"), 200)
        raise Failed(f"{name} could not be copied: {exc.strerror}") from exc
    return _describe_copied(taken)


def _describe_copied(taken: FilesToCopy) -> list[str]:
    count = len(taken.files)
    words = [f"copied {count} {'file' if count == 1 else 'files'}"]
    words += [f"left out {one_line(path, 200)}: {why}" for path, why in taken.left_out[:_NAMED]]
    if len(taken.left_out) > _NAMED:
        words.append(f"left out {len(taken.left_out) - _NAMED} more")
    return [*words, *(f"{one_line(pattern, 200)} names no file" for pattern in taken.idle[:_NAMED])]


def _copy_file(checkout: Path, place: Path, one: UntrackedFile) -> None:
    """Copy a file or a symbolic link through real folders only: a link in the base could lead out of the worktree."""
    *above, name = one.path.split("/")
    temporary = f".{random_hex(8)}.tmp"
    with _opened_folder(place, above, make=True) as target, _opened_folder(checkout, above, make=False) as source:
        try:
            if one.link is not None:
                os.symlink(one.link, temporary, dir_fd=target)
            else:
                _copy_bytes(source, name, target, temporary)
            os.replace(temporary, name, src_dir_fd=target, dst_dir_fd=target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=target)


def _copy_bytes(source: int, name: str, target: int, temporary: str) -> None:
    reading = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source)
    with os.fdopen(reading, "rb") as old:
        about = os.fstat(reading)
        if not stat.S_ISREG(about.st_mode):
            raise Failed(f"{one_line(name, 200)} is not a plain file any more")
        mode = 0o755 if about.st_mode & 0o100 else 0o644
        writing = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=target)
        with os.fdopen(writing, "wb") as new:
            while piece := old.read(_PIECE):
                new.write(piece)
        # Keep the times: tools such as make compare them.
        os.utime(temporary, ns=(about.st_atime_ns, about.st_mtime_ns), dir_fd=target)


@contextlib.contextmanager
def _opened_folder(top: Path, folders: list[str], *, make: bool) -> Iterator[int]:
    fd = os.open(top, _FOLDER)
    try:
        for name in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=fd)
            deeper = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = deeper
        yield fd
    finally:
        os.close(fd)


def _run_setup_command(
    run: OpenRun, definition: RunDefinition, show: Show, number: int, argv: tuple[str, ...], network: Network | None
) -> None:
    """Run a command in the run's sandbox, with the network that the run was given. Raises: NexusError."""
    words = one_line(" ".join(argv), 200)
    refuse_run_command(run, argv, network or "none", "the set-up")
    home = run.private / "home"
    make_private_folder(home)
    sandbox = WorktreeSandbox(run.worktree, run.policy())
    redactor, kept = Redactor(known_secret_values()), bytearray()
    spec = sandbox_spec(run, sandbox, AgentLaunch(argv=argv), run.private, definition, network)
    done = run_in_sandbox(spec, lambda piece: kept.extend(redactor.feed(piece)))
    kept += redactor.finish()
    if kept:
        artifact = run.artifacts.write(f"setup-{number}.log", bytes(kept))
        body = {"name": artifact.name, "digest": artifact.digest, "size": artifact.size}
        run.log.append("artifact.written", "nexus", body)
    if done.ended_by:
        raise Failed(f"{words} was ended by the limit on {done.ended_by}")
    if done.status != 0:
        how = f"status {done.status}" if done.status is not None else f"signal {done.signal}"
        last = kept.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Failed(f"{words} exited with {how}" + (f": {one_line(last, 200)}" if last else ""))
    _log_setup_line(run, show, f"{words} succeeded")
