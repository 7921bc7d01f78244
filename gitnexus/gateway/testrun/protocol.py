"""What a test runner is to us, and what a run of tests amounts to."""

from typing import Literal, Protocol

from gitnexus.base.record import Record

Verdict = Literal["passed", "failed", "none", "uncounted"]


class Failure(Record):
    """One test that did not pass: its name, the file or package it is in, and the first line of why."""

    name: str
    where: str = ""
    message: str = ""


class TestReport(Record):
    """What was counted. `counted` is False if the output could not be read: then only the status is known.

    The output is the tests' own, and so could be a lie; the status is taken along, and the worse of the two holds.
    """

    __test__ = False  # not a test, whatever a test runner thinks of its name

    status: int
    counted: bool = True
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[Failure, ...] = ()

    @property
    def ran(self) -> int:
        """How many tests ran to an end, good or bad."""
        return self.passed + self.failed

    @property
    def verdict(self) -> Verdict:
        """Passed only if something ran, nothing failed, and the runner itself says so. No tests are no success."""
        if self.failed or self.failures:
            return "failed"
        if not self.counted:
            return "failed" if self.status else "uncounted"
        if not self.ran:
            return "none"
        return "failed" if self.status else "passed"


class Runner(Protocol):
    """A test runner."""

    @property
    def name(self) -> str:
        """What it is called."""

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command for the tests `wanted`, all if none; None if the project's files do not call for it."""

    def parse(self, output: bytes, status: int) -> TestReport:
        """Return what the output says; it never raises, whatever the output is."""


def lines(output: bytes) -> list[str]:
    """Return the lines of an output, split at line feeds only."""
    return output.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def operands(wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return what was asked for so that no runner takes it for an option."""
    return tuple(f"./{word}" if word.startswith("-") else word for word in wanted)
