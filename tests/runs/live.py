"""Runs as a person has them: started, killed, gone on with, and looked at from outside."""

import contextlib
import itertools
import json
import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import Nexus, run_git
from tests.prepared import prepare
from tests.terminal import answered, at_work

# Not the same when done twice: whatever is repeated is seen.
SCRIPT = "echo more >> readme.txt && mkdir new && echo fresh > 'new/ä b' && echo done"
# Scripts by which many tests begin; none of them leaves anything that could not be copied.
MORE = "echo more >> readme.txt"
_SHARED = (SCRIPT, MORE)
ASKED, DENIED, UNPROVED = 21, 20, 22


def begun(nexus: Nexus, script: str = SCRIPT, *options: str, status: int | None = ASKED) -> str:
    """Let a script work, and return the id of its run. The scripts of many tests do so once, and are then copied."""

    def run() -> str:
        done = nexus("run", *options, "--json", "--", "sh", "-c", script)
        assert status is None or done.returncode == status, f"{done.returncode}\n{done.stdout}{done.stderr}"
        return str(json.loads(done.stdout)["run"]["id"])

    return prepare(nexus, ("run", script), run) if script in _SHARED and not options else run()


def approved(nexus: Nexus, script: str = SCRIPT) -> str:
    """Let a script work, approve what it did, and return the id of its run: done once and then copied."""

    def run() -> str:
        run = begun(nexus, script)
        nexus.ok("approve", "--unseen", run)
        return run

    return prepare(nexus, ("approve", script), run)


def approved_not_committed(nexus: Nexus, script: str = SCRIPT) -> str:
    """Let a script work, and stop the approval of what it did between the yes and the commit: once, then copied."""

    def run() -> str:
        run = begun(nexus, script)
        with held(nexus.place, run):
            assert nexus("approve", "--unseen", run).returncode == 1
        return run

    return prepare(nexus, ("approve, held", script), run)


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
    with at_work(place, *argv) as (command, _):
        with contextlib.suppress(TimeoutError):
            command.wait(seconds)
            return False
        if family:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(command.pid, signal.SIGKILL)
        return True


@dataclass(frozen=True)
class Undisturbed:
    """How long each part of a run's life takes here when nobody disturbs it, and what comes of it."""

    run: float
    approval: float
    resume: float
    landing: float
    outcome: tuple[Any, ...]
    landed: str


def undisturbed(nexus: Nexus) -> Undisturbed:
    """Measure it."""
    times = [time.monotonic()]
    run = begun(nexus)
    times.append(time.monotonic())
    nexus.ok("approve", "--unseen", run)
    times.append(time.monotonic())
    nexus("resume", run)
    times.append(time.monotonic())
    outcome = whole(nexus, run)
    with elsewhere(nexus.place, run) as place:
        start = time.monotonic()
        nexus.ok("land", run, place=place)
        landing = time.monotonic() - start
        landed = landing_of(nexus, place, run)
    run_time, approval, resume = (after - before for before, after in itertools.pairwise(times))
    return Undisturbed(run_time, approval, resume, landing, outcome, landed)


@contextlib.contextmanager
def elsewhere(place: Path, run: str) -> Iterator[Path]:
    """Yield a checkout of its own to land in: the person's branch stays where the other runs begin."""
    beside = place.parent / f"land-{run}"
    run_git(place, "worktree", "add", "-q", "-b", f"land-{run}", str(beside), "HEAD")
    yield beside
    run_git(place, "worktree", "remove", "--force", str(beside))


def landing_of(nexus: Nexus, place: Path, run: str) -> str:
    """Return the tree that a run landed as, having proved that it landed once, and all of it."""
    nexus.ok("verify", "--require-approval", f"{record(place, run)['base']}..HEAD", place=place)
    assert run_git(place, "rev-list", "--count", "--first-parent", f"{record(place, run)['base']}..HEAD").strip() == "1"
    assert run_git(place, "status", "--porcelain") == ""
    assert record(place, run)["status"] == "landed"
    assert len(events(nexus.place, run, "run.landed")) == 1
    nexus.ok("replay", run, "--verify")
    return run_git(place, "rev-parse", "HEAD^{tree}").strip()


def disturbed(nexus: Nexus, usual: Undisturbed, chance: random.Random) -> tuple[tuple[Any, ...], str]:
    """Kill a run at work, when it is gone on with, approved and landed; go on each time, return what came of it."""

    def kill(usually: float, *argv: str, place: Path | None = None) -> None:
        killed(place or nexus.place, chance.uniform(0, usually), chance.random() < 0.5, *argv)

    before = set(listed(nexus))
    kill(usual.run, "run", "--", "sh", "-c", SCRIPT)
    new = set(listed(nexus)) - before
    assert len(new) <= 1
    run = new.pop() if new else begun(nexus)  # killed before anybody could know of it
    kill(usual.resume + usual.run / 2, "resume", run)  # it may have the whole of the run to do
    gone_on(nexus, "resume", run)
    kill(usual.approval, "approve", "--unseen", run)
    if listed(nexus)[run]["status"] not in ("completed",):
        gone_on(nexus, "approve", "--unseen", run)
    outcome = whole(nexus, run)
    with elsewhere(nexus.place, run) as place:
        kill(usual.landing, "land", run, place=place)
        gone_on(nexus, "land", run, place=place)
        return outcome, landing_of(nexus, place, run)


def gone_on(nexus: Nexus, *argv: str, place: Path | None = None) -> None:
    """Run a command that must end well, or with something to be approved."""
    done = nexus(*argv, place=place)
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
    """Keep the branch of a run from moving, as a full disk would: git cannot write its reflog."""
    log = place / ".git" / "logs" / "refs" / "heads" / "nexus" / run
    aside = log.rename(log.with_name(f"{run}.aside"))
    log.mkdir()
    (log / "in-the-way").touch()
    try:
        yield
    finally:
        (log / "in-the-way").unlink()
        log.rmdir()
        aside.rename(log)


def typed(place: Path, keys: str, *argv: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a command on a terminal, type a line at each question, and return its status and what it drew."""
    return answered(
        place, *argv, typed=tuple(keys.split("\n")), env={"TERM": "xterm-256color", "PAGER": "cat", **(env or {})}
    )
