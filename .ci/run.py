"""What CI runs: cheap checks first, parts side by side where a core would be idle, and a line of counts as the end.

The parts are targets of the Makefile, so that each can be run alone. A failure of a cheap part ends it all; after a
failure of a test part the others still run. Status 0 only if every part that was to run did, and passed.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MINUTE = 60


@dataclass(frozen=True)
class Part:
    """One thing to run. `tests`: it takes FLAGS for pytest and writes a report of what passed."""

    name: str
    argv: tuple[str, ...]
    tests: bool = False
    limit: float = 30 * MINUTE


@dataclass(frozen=True)
class Stage:
    """Parts that run side by side. `must`: no later stage begins if one of them fails.

    `beside` begin with the stage and run on, for they only wait for the network; a stage with `after` waits for them.
    """

    parts: tuple[Part, ...]
    must: bool = False
    beside: tuple[Part, ...] = ()
    after: bool = False


@dataclass(frozen=True)
class Counts:
    """Tests by how they ended, and the skipped ones with the reason of each."""

    passed: int = 0
    failed: int = 0
    skipped: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {len(self.skipped)} skipped"


@dataclass(frozen=True)
class Result:
    """How a part ended: `status` 0 is well, and `why` says what else."""

    part: Part
    status: int
    seconds: float
    why: str = ""
    counts: Counts = field(default_factory=Counts)

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.why


def make(target: str, *words: str, tests: bool = False, flags: str = "", limit: float = 30 * MINUTE) -> Part:
    return Part(target, ("make", target, *words, *([f"FLAGS={flags}"] if flags else [])), tests, limit)


STAGES = (
    Stage((Part("set-up", ("make", ".venv/.ready")),), must=True),
    Stage((make("style"),), must=True),
    Stage((make("types"), make("floors"), make("demo")), must=True, beside=(make("peers"),)),
    Stage((make("test", tests=True),)),
    # A test whose peer is still being fetched waits for that one alone.
    Stage((make("slow", "CRASH_POINTS=sample", tests=True, limit=55 * MINUTE),)),
    # Nothing runs beside the benchmarks: they would measure that too.
    Stage((make("bench", flags="--quick"),), after=True),
)


def read_report(file: Path) -> Counts:
    """Return what a report in the form of JUnit counts. Raises: OSError, ET.ParseError."""
    suites = list(ET.parse(file).getroot().iter("testsuite"))
    total, bad = 0, 0
    skipped = []
    for suite in suites:
        total += int(suite.get("tests", 0))
        bad += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        for case in suite.iter("testcase"):
            for mark in case.findall("skipped"):
                name = f"{case.get('classname', '')}::{case.get('name', '')}"
                skipped.append((name, mark.get("message") or "no reason given"))
    return Counts(max(0, total - bad - len(skipped)), bad, tuple(skipped))


def lines_of_skips(skipped: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each reason for a skip, and below it the tests that it is the reason of."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in skipped:
        by_reason.setdefault(reason, []).append(name)
    for reason, names in sorted(by_reason.items()):
        yield f"skipped, {len(names)}: {reason}"
        yield from (f"    {name}" for name in sorted(set(names)))


class Running:
    """A part that was started. What it prints goes to a file until it is over, if others run beside it."""

    def __init__(self, part: Part, folder: Path, *, quiet: bool) -> None:
        self.part = part
        self._report = folder / f"{part.name}.xml"
        self._log = (folder / f"{part.name}.log").open("w+b") if quiet else None
        argv = [*part.argv, f"FLAGS=--junit-xml={self._report} -rs"] if part.tests else list(part.argv)
        self._since = time.monotonic()
        # A group of its own: whatever it started ends with it.
        self._child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT if quiet else None,
            start_new_session=True,
        )
        # What runs beside other parts is over long before anybody waits for it.
        self._until = self._since
        self._watch = threading.Thread(target=self._note_end, daemon=True)
        self._watch.start()

    def _note_end(self) -> None:
        self._child.wait()
        self._until = time.monotonic()

    def wait(self) -> Result:
        """Wait for its end, print what was held back, and say how it ended."""
        why = ""
        try:
            status = self._child.wait(max(0.0, self.part.limit - (time.monotonic() - self._since)))
        except subprocess.TimeoutExpired:
            why = f"not over after {self.part.limit:.0f} s, and ended"
            status = self.end()
        self._watch.join()
        seconds = self._until - self._since
        if self._log is not None:
            self._log.seek(0)
            print(self._log.read().decode("utf-8", "replace"), end="", flush=True)
            self._log.close()
        counts = Counts()
        if self.part.tests:
            try:
                counts = read_report(self._report)
            except (OSError, ET.ParseError) as exc:
                why = why or f"it left no report of its tests: {exc}"
        if (status or why) and not counts.failed:
            counts += Counts(failed=1)  # so that no line of counts looks well where a part is not
        result = Result(self.part, status, seconds, why, counts)
        print(f"-- {line_of(result)}", flush=True)
        return result

    def end(self) -> int:
        """Kill it with all that it started, unless it is over, and return its status."""
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)
        return self._child.wait()


def line_of(result: Result) -> str:
    words = "ok" if result.ok else f"FAILED, status {result.status}"
    return f"{result.seconds:6.0f} s  {result.part.name}: {words}{f', {result.why}' if result.why else ''}"


def run_stages(stages: Sequence[Stage], folder: Path) -> list[Result]:
    """Run all parts of all stages in order, and return how each ended; the parts of one stage run side by side."""
    results: list[Result] = []
    running: list[Running] = []
    beside: list[Running] = []
    try:
        for stage in stages:
            if stage.after:
                results += [one.wait() for one in beside]
                beside = []
            print(f"\n== {', '.join(part.name for part in stage.parts)}", flush=True)
            beside += [Running(part, folder, quiet=True) for part in stage.beside]
            running += beside
            started = [Running(part, folder, quiet=len(stage.parts) > 1) for part in stage.parts]
            running += started
            ended = [one.wait() for one in started]
            results += ended
            if stage.must and not all(result.ok for result in ended):
                return results
        return results + [one.wait() for one in beside]
    finally:
        for one in running:
            one.end()


def main(stages: Sequence[Stage] = STAGES) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    since = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="git-nexus-ci-") as name:
        try:
            results = run_stages(stages, Path(name))
        except KeyboardInterrupt:
            return 130
    total = sum((result.counts for result in results), Counts())
    print("\n== all parts")
    for result in results:
        print(line_of(result))
    named = {part.name for stage in stages for part in (*stage.parts, *stage.beside)}
    if missing := sorted(named - {result.part.name for result in results}):
        print(f"          not run: {', '.join(missing)}")
    print(f"{time.monotonic() - since:6.0f} s  in all")
    for line in lines_of_skips(total.skipped):
        print(line)
    print(total.line(), flush=True)
    return 0 if all(result.ok for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
