"""Any other test command: reports its exit status only."""

from gitnexus.gateway.testrun.protocol import TestReport


class OtherRunner:
    """A command of the project."""

    name = "other"

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the requested words unchanged."""
        return wanted or None

    def parse(self, output: bytes, status: int) -> TestReport:
        """Return the exit status only."""
        return TestReport(status=status, counted=False)
