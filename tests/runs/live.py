"""Runs as a person has them: started, killed, gone on with, and looked at from outside."""

import contextlib
import json
import os
import pty
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import Nexus, run_git

# Not the same when done twice: whatever is repeated is seen.
SCRIPT = "echo more >> readme.txt && mkdir new && echo fresh > 'new/ä b' && echo done"
ASKED, DENIED, UNPROVED = 21, 20, 22


def begun(nexus: Nexus, script: str = SCRIPT, *options: str, status: int | None = ASKED) -> str:
    """Let a script work, and return the id of its run."""
    done = nexus("run", *options, "--json", "--", "sh", "-c", script)
    assert status is None or done.returncode == status, f"{done.returncode}\n{done.stdout}{done.stderr}"
    return str(json.loads(done.stdout)["run"]["id"])


def listed(nexus: Nexus) -> dict[str, dict[str, Any]]:
    """Return the rows of git nexus runs by id."""
    return {row["id"]: row for row in json.loads(nexus.ok("runs", "--all", "--json"))["runs"]}


def record(place: Path, run: str) -> dict[str, Any]:
    """Return the record of a run on the state ref."""
    found: dict[str, Any] = json.loads(run_git(place, "show", f"refs/nexus/state:runs/{run}.json"))
    return found


def commits(place: Path, run: str) -> list[str]:
    """Return the commits that a run made, the newest first."""
    return run_git(place, "rev-list", f"HEAD..nexus/{run}").split()


def folder(place: Path, run: str) -> Path:
    """Return where the log of a run lies."""
    return place / ".git" / "nexus" / "runs" / run


def untouched(place: Path) -> tuple[bytes, dict[str, bytes], str]:
    """Return all that a run must leave alone: the index, the files and the branch of the person."""
    files = {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and path.relative_to(place).parts[0] not in (".git", ".nexus")
    }
    return (place / ".git" / "index").read_bytes(), files, run_git(place, "rev-parse", "HEAD")


def whole(nexus: Nexus, run: str) -> tuple[Any, ...]:
    """Return what came of a run, having proved that it holds together."""
    place = nexus.place
    nexus.ok("replay", run, "--verify")
    assert run_git(place, "fsck", "--strict", "--no-dangling") == ""
    told = json.loads(nexus("resume", run, "--json").stdout)
    return (
        told["run"]["status"],
        record(place, run)["status"],
        run_git(place, "rev-parse", f"nexus/{run}^{{tree}}").strip(),
        len(commits(place, run)),
        [(one["id"], one["status"]) for one in told["actions"]],
    )


def killed(place: Path, seconds: float, family: bool, *argv: str) -> bool:
    """Start a command and kill it after a time, alone or with all that it started; True if it was still at work."""
    child = subprocess.Popen(
        ["git-nexus", *argv], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
        return False
    if family:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()
    return True


@dataclass(frozen=True)
class Undisturbed:
    """How long a run and its approval take here when nobody disturbs them, and what comes of them."""

    run: float
    approval: float
    outcome: tuple[Any, ...]


def undisturbed(nexus: Nexus) -> Undisturbed:
    """Measure it."""
    start = time.monotonic()
    run = begun(nexus)
    middle = time.monotonic()
    nexus.ok("approve", run)
    return Undisturbed(middle - start, time.monotonic() - middle, whole(nexus, run))


def disturbed(nexus: Nexus, usual: Undisturbed, chance: random.Random) -> tuple[Any, ...]:
    """Kill a run once while it works and once while it is approved, go on each time, and return what came of it."""
    before = set(listed(nexus))
    killed(nexus.place, chance.uniform(0, usual.run), chance.random() < 0.5, "run", "--", "sh", "-c", SCRIPT)
    new = set(listed(nexus)) - before
    assert len(new) <= 1
    run = new.pop() if new else begun(nexus)  # killed before anybody could know of it
    gone_on(nexus, "resume", run)
    killed(nexus.place, chance.uniform(0, usual.approval), chance.random() < 0.5, "approve", run)
    if listed(nexus)[run]["status"] not in ("completed",):
        gone_on(nexus, "approve", run)
    return whole(nexus, run)


def gone_on(nexus: Nexus, *argv: str) -> None:
    """Run a command that must end well, or with something to be approved."""
    done = nexus(*argv)
    assert done.returncode in (0, ASKED), f"{argv} → {done.returncode}\n{done.stdout}{done.stderr}"


def events(place: Path, run: str, kind: str) -> list[dict[str, Any]]:
    """Return the bodies of the events of a kind."""
    raw = (folder(place, run) / "events.jsonl").read_bytes()
    found = [json.loads(line) for line in raw.split(b"\n") if line]
    return [event["body"] for event in found if event["kind"] == kind]


def artifact(place: Path, run: str, digest: str) -> Path:
    """Return the file of an artifact."""
    (found,) = [path for path in folder(place, run).rglob("*") if path.name == digest.removeprefix("sha256:")]
    return found


@contextlib.contextmanager
def held(place: Path, run: str) -> Iterator[None]:
    """Keep the branch of a run from moving, as a stopped git would."""
    lock = place / ".git" / "refs" / "heads" / "nexus" / f"{run}.lock"
    lock.touch()
    try:
        yield
    finally:
        lock.unlink()


def typed(place: Path, keys: str, *argv: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a command on a terminal, type a line at each question, and return its status and what it drew."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.environ.update({"TERM": "xterm-256color", "PAGER": "cat", **(env or {})})
        os.execvp(argv[0], list(argv))
    shown, answered, lines = b"", 0, keys.split("\n")
    with contextlib.suppress(OSError):
        while piece := os.read(fd, 65536):
            shown += piece
            if shown.endswith((b"] ", b"? ", b": ")) and answered < len(lines):
                os.write(fd, f"{lines[answered]}\n".encode())
                answered += 1
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return status, shown.decode()
