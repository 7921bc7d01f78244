"""The interface of a test runner, and the report of a test run."""

from typing import Literal, Protocol

from gitnexus.base.record import Record

Verdict = Literal["passed", "failed", "none", "uncounted"]


class Failure(Record):
    """A test that did not pass: its name, its file or package, and the first line of the reason."""

    name: str
    where: str = ""
    message: str = ""


class TestReport(Record):
    """The counts. `counted` is False if the output could not be parsed: then only the status is known.

    Tests control the output and could fake it; the exit status is included, and the worse of the two counts.
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
        """The number of tests that ended, passed or failed."""
        return self.passed + self.failed

    @property
    def verdict(self) -> Verdict:
        """Passed only if tests ran, none failed and the runner succeeded. No tests is not a success."""
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
        """The runner's name."""

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command for the tests `wanted`, by default all; None if the project does not use this runner."""

    def parse(self, output: bytes, status: int) -> TestReport:
        """Parse the output; never raises."""


def output_lines(output: bytes) -> list[str]:
    """Return the lines of an output, split at line feeds only."""
    return output.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def escape_operands(wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the operands changed so that no runner takes them for options."""
    return tuple(f"./{word}" if word.startswith("-") else word for word in wanted)
