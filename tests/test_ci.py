"""`.ci/run`: the status is right in every case, and the last line counts."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.waiting import wait_until

SCRIPT = Path(__file__).resolve().parent.parent / ".ci" / "run.py"
REPORT = (
    '<testsuites><testsuite tests="{tests}" failures="{failures}" errors="{errors}">'
    '<testcase classname="tests.x" name="a"><skipped message="cannot be had here: fish: no apt"/></testcase>'
    "</testsuite></testsuites>"
)
# A stand-in for `make test FLAGS=--junit-xml=FILE -rs`.
WRITES = "import sys; open(sys.argv[1].split('=', 2)[2].split()[0], 'w').write({report!r}); sys.exit({status})"


@pytest.fixture(scope="module")
def ci() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_run", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["ci_run"] = module
    spec.loader.exec_module(module)
    return module


def part_with_tests(
    ci: ModuleType, name: str, status: int = 0, tests: int = 5, failures: int = 0, errors: int = 0
) -> object:
    report = REPORT.format(tests=tests, failures=failures, errors=errors)
    return ci.Part(name, (sys.executable, "-c", WRITES.format(report=report, status=status)), tests=True)


def shown(ci: ModuleType, capfd: pytest.CaptureFixture[str], *stages: object) -> tuple[int, list[str]]:
    before = signal.getsignal(signal.SIGTERM)
    try:
        status = ci.main(stages)
    finally:
        signal.signal(signal.SIGTERM, before)
    return status, capfd.readouterr().out.splitlines()


def test_the_counts_of_all_test_parts_are_added(ci: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    parts = ci.Stage((part_with_tests(ci, "test"),)), ci.Stage((part_with_tests(ci, "slow", tests=3),))
    status, lines = shown(ci, capfd, *parts)

    assert status == 0
    assert lines[-1] == "6 passed, 0 failed, 2 skipped"
    assert lines[-3:-1] == ["skipped, 2: cannot be had here: fish: no apt", "    tests.x::a"]


def test_a_failed_test_fails_it_and_the_other_parts_still_run(
    ci: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = part_with_tests(ci, "test", status=2, failures=1, errors=1)
    status, lines = shown(ci, capfd, ci.Stage((failing,)), ci.Stage((part_with_tests(ci, "slow"),)))

    assert status == 1
    assert lines[-1] == "6 passed, 2 failed, 2 skipped"
    assert any(line.endswith("s  test: FAILED, status 2") for line in lines)


def test_a_failed_cheap_part_ends_it_and_is_counted(ci: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    cheap = ci.Stage((ci.Part("types", ("false",)), ci.Part("floors", ("true",))), must=True)
    status, lines = shown(ci, capfd, cheap, ci.Stage((part_with_tests(ci, "test"),)))

    assert status == 1
    assert lines[-1] == "0 passed, 1 failed, 0 skipped"
    assert "          not run: test" in lines


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("true",), "left no report"),
        ((sys.executable, "-c", WRITES.format(report="<half", status=0)), "left no report"),
        (("sh", "-c", "kill -9 $$"), "status -9"),
    ],
)
def test_a_test_part_that_ends_without_a_report_fails(
    ci: ModuleType, capfd: pytest.CaptureFixture[str], argv: tuple[str, ...], why: str
) -> None:
    status, lines = shown(ci, capfd, ci.Stage((ci.Part("test", argv, tests=True),)))

    assert status == 1
    assert lines[-1] == "0 passed, 1 failed, 0 skipped"
    assert any(why in line for line in lines)


def test_tests_that_all_pass_beside_a_bad_status_are_a_failure(
    ci: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    status, lines = shown(ci, capfd, ci.Stage((part_with_tests(ci, "test", status=3),)))

    assert status == 1
    assert lines[-1] == "4 passed, 1 failed, 1 skipped"


def test_parts_of_a_stage_run_side_by_side_and_each_says_its_own(
    ci: ModuleType, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # either waits for the other
    one = ci.Part("one", ("sh", "-c", f"echo first; echo hello > '{pipe}'"), limit=20)
    two = ci.Part("two", ("cat", str(pipe)), limit=20)
    status, lines = shown(ci, capfd, ci.Stage((one, two)))

    assert status == 0
    assert lines[2] == "first"
    assert lines[4] == "hello"


def test_what_runs_beside_is_waited_for_and_its_failure_counts(
    ci: ModuleType, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    late = ci.Part("peers", ("sh", "-c", f"cat '{pipe}'; exit 4"), limit=20)
    first = ci.Stage((ci.Part("demo", ("true",)),), beside=(late,))
    second = ci.Stage((ci.Part("test", ("sh", "-c", f"echo on > '{pipe}'")),))
    status, lines = shown(ci, capfd, first, second, ci.Stage((ci.Part("slow", ("true",)),), after=True))

    assert status == 1
    assert [line.split("s  ")[1] for line in lines if line.startswith("--")] == [
        "demo: ok", "test: ok", "peers: FAILED, status 4", "slow: ok"
    ]  # fmt: skip


def test_the_time_of_what_runs_beside_ends_with_it(ci: ModuleType, tmp_path: Path) -> None:
    first = ci.Stage((ci.Part("demo", ("true",)),), beside=(ci.Part("peers", ("true",)),))
    results = ci.run_stages((first, ci.Stage((ci.Part("test", ("sleep", "0.3")),))), tmp_path)

    seconds = {result.part.name: result.seconds for result in results}
    assert seconds["peers"] < 0.3 <= seconds["test"]


def is_read(pipe: Path) -> bool:
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:  # nobody has it open at the other end
        return False
    return True


def test_a_part_that_does_not_end_is_ended_with_all_that_it_started(
    ci: ModuleType, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    stuck = ci.Part("slow", ("sh", "-c", f"cat '{pipe}' & wait"), limit=0.3)
    status, lines = shown(ci, capfd, ci.Stage((stuck,)))

    assert status == 1
    assert any("slow: FAILED, status -9, not over after 0 s, and ended" in line for line in lines)
    wait_until("the end of what the part had started", lambda: not is_read(pipe))


def test_every_target_that_it_names_is_in_the_makefile(ci: ModuleType) -> None:
    for stage in ci.STAGES:
        for part in (*stage.parts, *stage.beside):
            done = subprocess.run(
                ["make", "--question", part.argv[1]],
                cwd=SCRIPT.parent.parent,
                capture_output=True,
                text=True,
                check=False,
            )
            assert "No rule" not in done.stderr, done.stderr
