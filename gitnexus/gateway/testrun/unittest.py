"""Plans Python's unittest and parses its summary."""

import re

from gitnexus.gateway.testrun.protocol import Failure, TestReport, escape_operands, output_lines

_RAN = re.compile(r"Ran (\d+) tests? in [\d.]+s")
_END = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?")
_COUNT = re.compile(r"([a-z ]+)=(\d+)")
_FAILURE = re.compile(r"(?:FAIL|ERROR): (\S+) \((.+)\).*")


class Unittest:
    """python -m unittest."""

    name = "unittest"

    def plan(self, files: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command if there are Python files that look like tests."""
        tests = sorted(path for path in files if re.search(r"(^|/)test[^/]*\.py$", path))
        if not tests:
            return None
        folder = tests[0].rpartition("/")[0]
        # Without a package the folder has to be named; with one, and at the top, they are found.
        start = ("-s", folder) if all("/" in path for path in tests) and f"{folder}/__init__.py" not in files else ()
        return ("python3", "-m", "unittest", *(escape_operands(wanted) or ("discover", *start)))

    def parse(self, output: bytes, status: int) -> TestReport:
        """Return the counts of the last run."""
        rows = output_lines(output)
        ran = next((match for row in reversed(rows) if (match := _RAN.fullmatch(row))), None)
        end = next((match for row in reversed(rows) if (match := _END.fullmatch(row))), None)
        if ran is None or end is None:
            return TestReport(status=status, counted=False)
        counts = {word.strip(): int(number) for word, number in _COUNT.findall(end[1] or "")}
        failed = counts.get("failures", 0) + counts.get("errors", 0) + counts.get("unexpected successes", 0)
        skipped = counts.get("skipped", 0)
        return TestReport(
            status=status,
            passed=max(0, int(ran[1]) - failed - skipped),
            failed=failed,
            skipped=skipped,
            failures=_parse_failures(rows),
        )


def _parse_failures(rows: list[str]) -> tuple[Failure, ...]:
    """Return each failure with the last line of its traceback, which ends at an empty line."""
    found = []
    for at, row in enumerate(rows):
        if match := _FAILURE.fullmatch(row):
            block = []
            for line in rows[at + 2 :]:
                if not line.strip():
                    break
                block.append(line)
            found.append(Failure(name=match[1], where=match[2], message=block[-1] if block else ""))
    return tuple(found)
