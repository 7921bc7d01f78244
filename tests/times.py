"""What a test run spent its time on: the slowest tests, and the sum of seconds by folder or by file.

A plug-in of pytest, `python -m pytest -p tests.times`. It takes the durations that tests report, so with several
workers it counts what the tests took and not what the clock shows. `--slowest 40` prints more tests and sums by file.
`--cpu` counts the seconds of the processor, with those of the commands and of git: they are the same on a busy machine.
"""

import os
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

from tests.forked import forker

_FEW = 10
_TICKS = os.sysconf("SC_CLK_TCK")
_WIDTH = 80


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slowest", type=int, default=_FEW, help="how many tests are listed; more than 10: sums by file")
    parser.addoption("--cpu", action="store_true", help="seconds of the processor, not of the clock")


class _Processor:
    """Writes into each report what the processor worked since the one before."""

    def __init__(self) -> None:
        self._before = _processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = _processor_seconds()
        report.duration, self._before = now - self._before, now
        return report


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.getoption("--cpu") and not session.config.pluginmanager.has_plugin("dsession"):
        session.config.pluginmanager.register(_Processor())


def _processor_seconds() -> float:
    """Return what this process and its children worked, and the processes that commands are forked from."""
    return sum(os.times()[:4]) + sum(map(_seconds_of, forker().processes))


def _seconds_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


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
