"""Plans `go test -json` and parses its stream of events."""

import json
from typing import Any

from gitnexus.gateway.testrun.protocol import Failure, TestReport, escape_operands, output_lines


class Go:
    """go test -json."""

    name = "go"

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command if there is a module."""
        return ("go", "test", "-json", *(escape_operands(wanted) or ("./...",))) if "go.mod" in files else None

    def parse(self, output: bytes, status: int) -> TestReport:
        """Count each test by its last event; a package that failed without a failed test counts as a failure."""
        ended: dict[tuple[str, str], str] = {}
        said: dict[tuple[str, str], str] = {}
        for event in map(_parse_event, output_lines(output)):
            key = (str(event.get("Package", "")), str(event.get("Test", "")))
            if event.get("Action") in ("pass", "fail", "skip"):
                ended[key] = event["Action"]
            elif event.get("Action") == "output" and not said.get(key):
                said[key] = _telling_line(str(event.get("Output", "")))
        if not ended:
            return TestReport(status=status, counted=False)
        broken = {package for (package, test), action in ended.items() if test and action == "fail"}
        counts = {"pass": 0, "fail": 0, "skip": 0}
        failures = []
        for (package, test), action in ended.items():
            alone = not test and action == "fail" and package not in broken
            counts[action] += bool(test) or alone
            if action == "fail" and (test or alone):
                failures.append(Failure(name=test or package, where=package, message=said.get((package, test), "")))
        return TestReport(
            status=status,
            passed=counts["pass"],
            failed=counts["fail"],
            skipped=counts["skip"],
            failures=tuple(failures),
        )


def _parse_event(row: str) -> dict[str, Any]:
    try:
        value = json.loads(row) if row.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _telling_line(text: str) -> str:
    """Return an informative line: not one that only announces or names a test."""
    line = text.strip()
    return "" if line.startswith(("=== ", "--- ", "FAIL", "PASS", "ok ")) else line
