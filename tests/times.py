"""What a test run spent its time on: the slowest tests, and the sum of seconds by folder or by file.

A plug-in of pytest, `python -m pytest -p tests.times`. It takes the durations that tests report, so with several
workers it counts what the tests took and not what the clock shows. `--slowest 40` prints more tests and sums by file.
"""

from collections import defaultdict
from collections.abc import Iterable

import pytest

_FEW = 10
_WIDTH = 80


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slowest", type=int, default=_FEW, help="how many tests are listed; more than 10: sums by file")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    count = config.getoption("--slowest")
    reports = (report for group in terminalreporter.stats.values() for report in group if hasattr(report, "duration"))
    seconds = sum_by_test((report.nodeid, report.duration) for report in reports)
    if seconds:
        terminalreporter.section("where the time went")
        for line in lines_of_times(seconds, count, by_file=count > _FEW):
            terminalreporter.line(line)


def sum_by_test(durations: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the seconds of each test: its set-up, its call and what came after it."""
    seconds: dict[str, float] = defaultdict(float)
    for test, duration in durations:
        seconds[test] += duration
    return dict(seconds)


def lines_of_times(seconds: dict[str, float], count: int, *, by_file: bool) -> list[str]:
    """Return the text of the summary, no line wider than 80 columns."""
    slowest = sorted(seconds, key=lambda test: -seconds[test])[:count]
    lines = [f"the {len(slowest)} slowest tests:"]
    lines += [f"{seconds[test]:8.2f} s  {_shorten(test)}" for test in slowest]
    groups: dict[str, list[float]] = defaultdict(list)
    for test, spent in seconds.items():
        file = test.partition("::")[0]
        groups[file if by_file else file.rpartition("/")[0]].append(spent)
    lines.append(f"by {'file' if by_file else 'folder'}, {sum(seconds.values()):.0f} s in all:")
    for group, spent in sorted(groups.items(), key=lambda item: -sum(item[1])):
        lines.append(f"{sum(spent):8.2f} s {len(spent):6} tests  {_shorten(group, 21)}")
    return lines


def _shorten(text: str, indent: int = 12) -> str:
    """Return the text without its middle, where it is wider than what is left of a line."""
    text = text.encode("ascii", "backslashreplace").decode()
    room = _WIDTH - indent
    return text if len(text) <= room else f"{text[: room // 2 - 2]}...{text[-(room - room // 2 - 1) :]}"
