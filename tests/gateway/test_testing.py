"""tests.run: numbers where a runner knows them, the exit status where none does, and no success without a test."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.gateway.table import call_tool
from tests.gateway.scene import Law, bench_at


@dataclass(frozen=True)
class Counted:
    ran: int
    passed: int
    failed: int
    skipped: int = 0
    failures: tuple[()] = ()


class Words:
    """A runner whose output is `passed failed`."""

    def plan(self, present: frozenset[str], wanted: Sequence[str]) -> Sequence[str] | None:
        return ["cat", *wanted] if "a.txt" in present else None

    def parse(self, output: bytes, status: int) -> Counted:
        passed, failed = map(int, output.split())
        return Counted(passed + failed, passed, failed)


@pytest.mark.parametrize(("output", "ok"), [("3 0", True), ("3 1", False), ("0 0", False)])
def test_095_a_run_is_good_only_if_a_test_passed_and_none_failed(place: Path, law: Law, output: str, ok: bool) -> None:
    (place / "-numbers").write_text(output)

    answer = call_tool(bench_at(place, law, runners={"words": Words()}), "tests.run", {"files": ["-numbers"]})

    assert answer["argv"] == ["cat", "./-numbers"]
    assert (answer["ok"], answer["runner"]) == (ok, "words")
    assert answer["ran"] == sum(map(int, output.split()))


def test_a_command_of_ones_own_counts_by_its_status(place: Path, law: Law) -> None:
    bench = bench_at(place, law)

    assert call_tool(bench, "tests.run", {"argv": ["true"]})["ok"] is True
    assert call_tool(bench, "tests.run", {"argv": ["false"]})["ok"] is False
    assert "passed" not in call_tool(bench, "tests.run", {"argv": ["true"]})


def test_without_a_runner_that_fits_nothing_is_run(place: Path, law: Law) -> None:
    with pytest.raises(NotFound):
        call_tool(bench_at(place, law), "tests.run", {})
    with pytest.raises(Invalid):
        call_tool(bench_at(place, law, runners={"words": Words()}), "tests.run", {"runner": "other"})
    with pytest.raises(Invalid):
        call_tool(bench_at(place, law, runners={"words": Words()}), "tests.run", {"files": ["../x"]})
    assert law.judged == []
