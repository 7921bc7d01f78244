"""Runs one git hook: a bookkeeping hook fails open within its time limit, a gate fails closed with its reason."""

import signal
import sys
from pathlib import Path
from types import FrameType

from gitnexus.base.errors import NexusError
from gitnexus.git import Repo, discover
from gitnexus.hooks import message, precommit
from gitnexus.state.intake import settle_hand_edits

# Bookkeeping that takes longer is given up: the next command does it.
_SECONDS = 20


class _TooLate(Exception):
    pass


def run_git_hook(event: str, args: list[str]) -> int:
    """Return the exit status for git."""
    if event in ("pre-commit", "pre-merge-commit"):
        return _check_commit()
    try:
        _set_time_limit()
        _run_bookkeeping(event, args)
    except Exception as exc:  # noqa: BLE001 - whatever it is, git goes on
        _write_stderr_lines([f"git nexus: {event} was skipped: {_describe_error(exc)}"])
    finally:
        signal.alarm(0)
    return 0


def _check_commit() -> int:
    try:
        verdict = precommit.check_staged_commit(discover(Path.cwd(), inherit=True))
    except Exception as exc:  # noqa: BLE001 - a gate that cannot look does not open
        _write_stderr_lines(
            [
                f"git nexus: refused: the commit could not be checked: {_describe_error(exc)}",
                "hint: git nexus doctor looks for the cause",
            ]
        )
        return 1
    _write_stderr_lines(precommit.format_verdict_lines(verdict))
    return 1 if verdict.refused else 0


def _run_bookkeeping(event: str, args: list[str]) -> None:
    repo = discover(Path.cwd(), inherit=True)
    match event:
        case "post-checkout":
            _settle_state(repo)
        case "prepare-commit-msg" if args:
            message.carry_over_trailers(repo, args)
        case "pre-push" if args:
            _sync_with_remote(repo, args[0])
        case "commit-msg" if args and message.kept_trailers_file(repo).exists():
            message.restore_trailers(repo, args)


def _settle_state(repo: Repo) -> None:
    from gitnexus.projects.open_state import open_state  # only this event needs more of the house

    state = open_state(repo)
    try:
        settle_hand_edits(state)
    finally:
        state.close()


def _sync_with_remote(repo: Repo, remote: str) -> None:
    from gitnexus.projects.open_state import open_state  # only who asked for it
    from gitnexus.sync.remote import resolve_remote
    from gitnexus.sync.sync import SyncOptions, sync_with_remote

    state = open_state(repo)
    try:
        settle_hand_edits(state)
        server = resolve_remote(state, remote)
        if server.way == "off":
            return
        done = sync_with_remote(state, server, SyncOptions())
        went = [f"took {', '.join(done.pulled)}"] if done.pulled else []
        went += [f"gave {', '.join(done.pushed)}"] if done.pushed else []
        _write_stderr_lines([f"git nexus: synced with {done.remote}: {'; '.join(went)}"] if went else [])
        _write_stderr_lines([f"git nexus: {text}" for text in done.said])
    finally:
        state.close()


def _set_time_limit() -> None:
    def on_alarm(signum: int, frame: FrameType | None) -> None:
        raise _TooLate(f"it took more than {_SECONDS} seconds")

    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(_SECONDS)


def _describe_error(exc: Exception) -> str:
    if isinstance(exc, NexusError):
        return exc.message
    return f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__


def _write_stderr_lines(lines: list[str]) -> None:
    for line in lines:
        sys.stderr.write(line + "\n")
