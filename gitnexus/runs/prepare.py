"""A run's worktree made ready before its agent comes, as the signed settings say, each step in the log."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gitnexus.adapters.protocol import Launch, Said
from gitnexus.app.commandrules import refuse_run_command
from gitnexus.app.confine import Sandbox
from gitnexus.app.runagent import Show
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runspec import spec_of
from gitnexus.base.chance import token
from gitnexus.base.errors import Failed, NexusError
from gitnexus.base.files import make_private_folder, replace
from gitnexus.base.text import one_line
from gitnexus.events.kinds import short
from gitnexus.events.view import RunView
from gitnexus.git.private import private
from gitnexus.git.untracked import Untracked, untracked
from gitnexus.policy.law import why_unreadable
from gitnexus.policy.model import Network
from gitnexus.redaction.hide import Redactor, mask
from gitnexus.redaction.stored import known_values
from gitnexus.runs.definition import Definition
from gitnexus.runs.setup import SECTION, Chosen, chosen, may_lie_below, settings_of
from gitnexus.sandbox.run import run
from gitnexus.state.settings import FILE, loosening, section

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1024 * 1024
_NAMED = 5
_OURS = (f"{SECTION}.copy", f"{SECTION}.setup")


def prepared(desk: RunDesk, definition: Definition, show: Show, network: Network | None) -> str:
    """Make the worktree ready unless it is; return why that failed, nothing if it did not."""
    done = _mark(desk)
    if done.exists():
        return ""
    try:
        asked = settings_of(section(desk.state.required(), SECTION, desk.state.trusts))
        for line in [*_unsigned(desk), *(_copied(desk, asked.copy) if asked.copy else [])]:
            _tell(desk, show, line)
        for number, argv in enumerate(asked.setup, 1):
            _ran(desk, definition, show, number, argv, network)
    except NexusError as exc:
        return f"the set-up failed: {exc.message}"
    replace(done, b"")
    return ""


def unprepared(desk: RunDesk) -> None:
    """Let the next `prepared` begin again: said before the files go away, so that a kill in between does no harm."""
    _mark(desk).unlink(missing_ok=True)


def failed_in_it(view: RunView) -> bool:
    """True for a run that ended in its set-up: none of its steps came to an end, good or bad."""
    return view.status == "failed" and all(node.status == "started" for node in view.nodes.values())


def _mark(desk: RunDesk) -> Path:
    # Beside the mark of the run: out of an agent's reach, and gone with the worktree, so that a new one is made ready.
    return desk.worktree.git_dir / "nexus" / "ready"


def _tell(desk: RunDesk, show: Show, text: str) -> None:
    words = f"set-up: {mask(text, known_values())}"
    show(Said(kind="progress", text=words))
    desk.log.append("agent.progress", "nexus", {"text": short(words)})


def _unsigned(desk: RunDesk) -> list[str]:
    """Say which settings about this do not count, so that nobody wonders where the files are."""
    snapshot = desk.state.required()
    raw = snapshot.read(FILE)
    if raw is None or not (keys := [key for key in loosening(raw) if key in _OURS]):
        return []
    if desk.state.trusts(snapshot, raw):
        return []
    return [f"passed over {' and '.join(keys)}, which nobody signed: git nexus policy trust"]


def _copied(desk: RunDesk, patterns: tuple[str, ...]) -> list[str]:
    """Copy what the patterns name from the checkout that the run is driven from; return that in words."""
    checkout = desk.repo.worktree
    if checkout is None:
        return ["there is no checkout to copy from"]
    law = desk.keeper().here.law
    try:
        with private(desk.repo) as git:
            found = untracked(git, checkout, desk.run.base, lambda folder: may_lie_below(patterns, folder))
            taken = chosen(patterns, found, lambda path: why_unreadable(law, path))
        for one in taken.files:
            _copy(checkout, desk.place, one)
    except OSError as exc:
        name = one_line(str(exc.filename or "a file"), 200)
        raise Failed(f"{name} could not be copied: {exc.strerror}") from exc
    return _in_words(taken)


def _in_words(taken: Chosen) -> list[str]:
    count = len(taken.files)
    words = [f"copied {count} {'file' if count == 1 else 'files'}"]
    words += [f"left out {one_line(path, 200)}: {why}" for path, why in taken.left_out[:_NAMED]]
    if len(taken.left_out) > _NAMED:
        words.append(f"left out {len(taken.left_out) - _NAMED} more")
    return [*words, *(f"{one_line(pattern, 200)} names no file" for pattern in taken.idle[:_NAMED])]


def _copy(checkout: Path, place: Path, one: Untracked) -> None:
    """Copy a file or a link by way of plain folders only: a link that the base holds could lead out of the worktree."""
    *above, name = one.path.split("/")
    temporary = f".{token(8)}.tmp"
    with _opened(place, above, make=True) as target, _opened(checkout, above, make=False) as source:
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
            raise Failed(f"{one_line(name, 200)} is no plain file any more")
        mode = 0o755 if about.st_mode & 0o100 else 0o644
        writing = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=target)
        with os.fdopen(writing, "wb") as new:
            while piece := old.read(_PIECE):
                new.write(piece)
        # Tools such as make compare times.
        os.utime(temporary, ns=(about.st_atime_ns, about.st_mtime_ns), dir_fd=target)


@contextlib.contextmanager
def _opened(top: Path, folders: list[str], *, make: bool) -> Iterator[int]:
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


def _ran(
    desk: RunDesk, definition: Definition, show: Show, number: int, argv: tuple[str, ...], network: Network | None
) -> None:
    """Run a command in the run's sandbox, without network unless the person gave the run one. Raises: NexusError."""
    words = one_line(" ".join(argv), 200)
    refuse_run_command(desk, argv, network or "none", "the set-up")
    home = desk.private / "home"
    make_private_folder(home)
    sandbox = Sandbox(desk.worktree, desk.keeper().here.law)
    redactor, kept = Redactor(known_values()), bytearray()
    spec = spec_of(desk, sandbox, Launch(argv=argv), desk.private, definition, network)
    done = run(spec, lambda piece: kept.extend(redactor.feed(piece)))
    kept += redactor.finish()
    if kept:
        artifact = desk.artifacts.write(f"setup-{number}.log", bytes(kept))
        body = {"name": artifact.name, "digest": artifact.digest, "size": artifact.size}
        desk.log.append("artifact.written", "nexus", body)
    if done.ended_by:
        raise Failed(f"{words} was ended by the limit on {done.ended_by}")
    if done.status != 0:
        how = f"status {done.status}" if done.status is not None else f"signal {done.signal}"
        last = kept.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Failed(f"{words} left with {how}" + (f": {one_line(last, 200)}" if last else ""))
    _tell(desk, show, f"{words} ran well")
