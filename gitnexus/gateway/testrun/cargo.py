"""Plans `cargo test` and parses the result line of each test binary."""

import re

from gitnexus.gateway.testrun.protocol import Failure, TestReport, escape_operands, output_lines

_RESULT = re.compile(r"test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;.*")
_FAILED = re.compile(r"test (.+?)(?: - should panic)? \.\.\. FAILED")
_BLOCK = re.compile(r"---- (.+) stdout ----")


class Cargo:
    """cargo test; continues after a failing binary, and downloads nothing."""

    name = "cargo"

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command if there is a crate."""
        if "Cargo.toml" not in files:
            return None
        return (
            "cargo",
            "test",
            "--offline",
            "--no-fail-fast",
            "--color=never",
            *(("--", *escape_operands(wanted)) if wanted else ()),
        )

    def parse(self, output: bytes, status: int) -> TestReport:
        """Return the summed counts of all binaries."""
        rows = output_lines(output)
        results = [match for row in rows if (match := _RESULT.fullmatch(row))]
        if not results:
            return TestReport(status=status, counted=False)  # it did not compile
        passed, failed, skipped = (sum(int(match[at]) for match in results) for at in (1, 2, 3))
        said = {match[1]: rows[at + 1] for at, row in enumerate(rows[:-1]) if (match := _BLOCK.fullmatch(row))}
        failures = tuple(
            Failure(name=match[1], where=match[1].rpartition("::")[0], message=said.get(match[1], ""))
            for row in rows
            if (match := _FAILED.fullmatch(row))
        )
        return TestReport(status=status, passed=passed, failed=failed, skipped=skipped, failures=failures)
