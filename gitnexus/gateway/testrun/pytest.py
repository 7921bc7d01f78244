"""Plans pytest and parses its last line and its short summary."""

import re

from gitnexus.gateway.testrun.protocol import Failure, TestReport, escape_operands, output_lines

_SUMMARY = re.compile(r"=*\s*((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s(?: \([\d:]+\))?\s*=*")
_COUNT = re.compile(r"(\d+) ([a-z]+)")
_FAILURE = re.compile(r"(?:FAILED|ERROR) (\S.*?)(?: - (.*))?")
_MARKS = frozenset(("pytest.ini", "conftest.py", "tox.ini", "pyproject.toml", "setup.cfg", "tests/conftest.py"))


class Pytest:
    """pytest without colour and cache, so that only the tests write files."""

    name = "pytest"

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command if there are signs of pytest."""
        if not files & _MARKS and not any(re.search(r"(^|/)test_[^/]*\.py$", path) for path in files):
            return None
        return ("pytest", "-q", "-rfE", "--tb=short", "--color=no", "-p", "no:cacheprovider", *escape_operands(wanted))

    def parse(self, output: bytes, status: int) -> TestReport:
        """Return the counts of the last summary; status 5 is pytest's own for no tests."""
        rows = output_lines(output)
        found = next((match for row in reversed(rows) if (match := _SUMMARY.fullmatch(row.strip()))), None)
        if found is None:
            return TestReport(status=status, counted=status == 5)
        counts = {word.rstrip("s") if word == "errors" else word: int(n) for n, word in _COUNT.findall(found[1])}
        failures = tuple(
            Failure(name=match[1], where=match[1].partition("::")[0], message=match[2] or "")
            for row in rows
            if (match := _FAILURE.fullmatch(row))
        )
        return TestReport(
            status=status,
            passed=counts.get("passed", 0) + counts.get("xpassed", 0) + counts.get("xfailed", 0),
            failed=counts.get("failed", 0) + counts.get("error", 0),
            skipped=counts.get("skipped", 0),
            failures=failures,
        )
