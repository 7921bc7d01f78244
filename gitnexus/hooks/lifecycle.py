"""Run one hook: bookkeeping fails open within its time, a gate fails closed with its reason."""

import signal
import sys
from pathlib import Path
from types import FrameType

from gitnexus.base.errors import NexusError
from gitnexus.git import Repo, discover
from gitnexus.hooks import message, precommit
from gitnexus.state.intake import settle

# Bookkeeping that takes longer is given up: the next command does it.
_SECONDS = 20


class _TooLate(Exception):
    pass


def run_hook(event: str, args: list[str]) -> int:
    """Return the exit status for git."""
    if event in ("pre-commit", "pre-merge-commit"):
        return _gate()
    try:
        _alarm()
        _bookkeeping(event, args)
    except Exception as exc:  # noqa: BLE001 - whatever it is, git goes on
        _tell([f"git nexus: {event} was left undone: {_words(exc)}"])
    finally:
        signal.alarm(0)
    return 0


def _gate() -> int:
    try:
        verdict = precommit.check(discover(Path.cwd(), inherit=True))
    except Exception as exc:  # noqa: BLE001 - a gate that cannot look does not open
        _tell(
            [
                f"git nexus: refused: the commit could not be checked: {_words(exc)}",
                "hint: git nexus doctor looks for the cause",
            ]
        )
        return 1
    _tell(precommit.lines_of(verdict))
    return 1 if verdict.refused else 0


def _bookkeeping(event: str, args: list[str]) -> None:
    repo = discover(Path.cwd(), inherit=True)
    match event:
        case "post-checkout":
            _fill(repo)
        case "prepare-commit-msg" if args:
            message.prepare(repo, args)
        case "pre-push" if args:
            _sync(repo, args[0])
        case "commit-msg" if args and message.kept_file(repo).exists():
            message.finish(repo, args)


def _fill(repo: Repo) -> None:
    from gitnexus.app.keepers import open_state  # only this event needs more of the house

    state = open_state(repo)
    try:
        settle(state)
    finally:
        state.close()


def _sync(repo: Repo, remote: str) -> None:
    from gitnexus.app.keepers import open_state  # only who asked for it
    from gitnexus.app.sync import Asked, synced
    from gitnexus.app.wire import wire_to

    state = open_state(repo)
    try:
        settle(state)
        wire = wire_to(state, remote)
        if wire.way == "off":
            return
        done = synced(state, wire, Asked())
        went = [f"took {', '.join(done.pulled)}"] if done.pulled else []
        went += [f"gave {', '.join(done.pushed)}"] if done.pushed else []
        _tell([f"git nexus: synced with {done.remote}: {'; '.join(went)}"] if went else [])
        _tell([f"git nexus: {text}" for text in done.said])
    finally:
        state.close()


def _alarm() -> None:
    def late(signum: int, frame: FrameType | None) -> None:
        raise _TooLate(f"it took more than {_SECONDS} seconds")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(_SECONDS)


def _words(exc: Exception) -> str:
    if isinstance(exc, NexusError):
        return exc.message
    return f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__


def _tell(lines: list[str]) -> None:
    for line in lines:
        sys.stderr.write(line + "\n")
