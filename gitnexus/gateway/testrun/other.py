"""Anything else that is called a test: judged by its exit status, and said to be no more than that."""

from gitnexus.gateway.testrun.protocol import TestReport


class Other:
    """A command of the project's own."""

    name = "other"

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return what was asked for, word by word."""
        return wanted or None

    def parse(self, output: bytes, status: int) -> TestReport:
        """Return the status and nothing else."""
        return TestReport(status=status, counted=False)
