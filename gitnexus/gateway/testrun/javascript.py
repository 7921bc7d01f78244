"""Plans jest, vitest and npm test, and parses their JSON report or summary."""

import json
import re
from typing import Any

from gitnexus.gateway.testrun.protocol import Failure, TestReport, escape_operands, output_lines

_WITHOUT_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PAIR = re.compile(r"(\d+) (passed|failed|skipped|todo|pending|passing|failing)")
_JEST = re.compile(r"\s*Tests:?\s+(?:\d+ [a-z]+[,| ]*)+(?:, \d+ total|\(\d+\))?\s*")
_NODE = re.compile(r"(?:#|ℹ) (pass|fail|skipped|cancelled) (\d+)")
_MOCHA = re.compile(r"\s*(\d+) (passing|failing|pending)(?: \(.*\))?")


class Jest:
    """jest as installed in the project; npx downloads nothing."""

    name = "jest"
    _argv: tuple[str, ...] = ("npx", "--no-install", "jest", "--ci", "--json")
    _mark = "jest.config"

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command if the project has jest's configuration."""
        if not any(path.startswith(self._mark + ".") for path in files):
            return None
        return (*self._argv, *escape_operands(wanted))

    def parse(self, output: bytes, status: int) -> TestReport:
        """Return the counts of the report, which is the last line with a JSON object."""
        for row in reversed(output_lines(output)):
            if row.startswith("{"):
                report = _parse_object(row)
                if isinstance(report.get("testResults"), list):
                    return _parse_report(report, status)
        return TestReport(status=status, counted=False)


class Vitest(Jest):
    """vitest, once and without watching."""

    name = "vitest"
    _argv = ("npx", "--no-install", "vitest", "run", "--reporter=json")
    _mark = "vitest.config"


class Npm:
    """npm test, which may run any program."""

    name = "npm"

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command if there is a package."""
        if "package.json" not in files:
            return None
        return ("npm", "test", "--silent", *(("--", *escape_operands(wanted)) if wanted else ()))

    def parse(self, output: bytes, status: int) -> TestReport:
        """Return the last summary in the format of jest, vitest, mocha or node's own runner."""
        rows = [_WITHOUT_COLOUR.sub("", row) for row in output_lines(output)]
        counts: dict[str, int] = {}
        for row in rows:
            if _JEST.fullmatch(row):
                counts = {word: int(number) for number, word in _PAIR.findall(row)}
            elif (match := _NODE.fullmatch(row)) or (match := _MOCHA.fullmatch(row)):
                first, second = match[1], match[2]
                counts.update({first: int(second)} if second.isdecimal() else {second: int(first)})
        if not counts:
            return TestReport(status=status, counted=False)

        def total(*words: str) -> int:
            return sum(counts.get(word, 0) for word in words)

        return TestReport(
            status=status,
            passed=total("passed", "passing", "pass"),
            failed=total("failed", "failing", "fail", "cancelled"),
            skipped=total("skipped", "pending", "todo"),
        )


def _parse_object(row: str) -> dict[str, Any]:
    try:
        value = json.loads(row)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _parse_report(report: dict[str, Any], status: int) -> TestReport:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    for file in filter(lambda one: isinstance(one, dict), report["testResults"]):
        where = str(file.get("name", ""))
        tests = file.get("assertionResults")
        tests = [one for one in tests if isinstance(one, dict)] if isinstance(tests, list) else []
        for test in tests:
            kind = test.get("status")
            counts[kind if kind in ("passed", "failed") else "skipped"] += 1
            if kind == "failed":
                words = test.get("failureMessages") or [""]
                message = str(words[0] if isinstance(words, list) else words).split("\n")[0]
                failures.append(Failure(name=str(test.get("fullName", "")), where=where, message=message))
        if not tests and file.get("status") == "failed":  # it could not even be loaded
            counts["failed"] += 1
            failures.append(Failure(name=where, where=where, message=str(file.get("message", "")).split("\n")[0]))
    return TestReport(
        status=status,
        passed=counts["passed"],
        failed=counts["failed"],
        skipped=counts["skipped"],
        failures=tuple(failures),
    )
