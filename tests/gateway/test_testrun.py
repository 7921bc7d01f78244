"""What a test runner printed, read: counts, failures, and that no tests are no success (095)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.gateway.testrun.protocol import Failure, TestReport
from gitnexus.gateway.testrun.table import RUNNERS

PYTEST, UNITTEST, NPM = RUNNERS["pytest"], RUNNERS["unittest"], RUNNERS["npm"]

MIXED = """
import unittest
class Some(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self): self.assertEqual(1, 2)
    def test_broken(self): raise ValueError("broken")
    @unittest.skip("later")
    def test_later(self): pass
"""


def really(place: Path, *argv: str) -> tuple[bytes, int]:
    done = subprocess.run(
        [sys.executable, *argv], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.stdout, done.returncode


def run_pytest(place: Path) -> TestReport:
    argv = PYTEST.plan(frozenset(("conftest.py",)), ())
    assert argv is not None
    return PYTEST.parse(
        *really(place, "-m", *argv, "-p", "no:xdist", "-p", "no:hypothesispytest", "--rootdir", str(place))
    )


def test_pytest_is_read_as_it_prints(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(MIXED)

    report = run_pytest(tmp_path)

    assert (report.passed, report.failed, report.skipped, report.verdict) == (1, 2, 1, "failed")
    assert {one.name for one in report.failures} == {"test_some.py::Some::test_bad", "test_some.py::Some::test_broken"}
    assert report.failures[0].where == "test_some.py"
    assert "1 != 2" in report.failures[0].message


@pytest.mark.slow
def test_pytest_that_cannot_load_a_file_failed(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text("import nothing_of_that_name\n")

    report = run_pytest(tmp_path)

    assert (report.ran, report.failed, report.verdict) == (1, 1, "failed")


def test_095_pytest_without_tests_is_no_success(tmp_path: Path) -> None:
    report = run_pytest(tmp_path)

    assert (report.status, report.ran, report.verdict) == (5, 0, "none")


def test_unittest_is_read_as_it_prints(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(MIXED)

    report = UNITTEST.parse(*really(tmp_path, "-m", "unittest", "discover"))

    assert (report.passed, report.failed, report.skipped, report.verdict) == (1, 2, 1, "failed")
    assert {one.message for one in report.failures} == {"AssertionError: 1 != 2", "ValueError: broken"}


def test_095_unittest_without_tests_is_no_success(tmp_path: Path) -> None:
    assert UNITTEST.parse(*really(tmp_path, "-m", "unittest", "discover")).verdict == "none"


def test_jest_and_vitest_are_read_by_their_json() -> None:
    tests = [
        {"fullName": "adds", "status": "passed"},
        {"fullName": "divides", "status": "failed", "failureMessages": ["Error: by zero\n  at x"]},
        {"fullName": "later", "status": "pending"},
    ]
    files = [
        {"name": "/w/a.test.js", "status": "failed", "assertionResults": tests},
        {"name": "/w/b.test.js", "status": "failed", "assertionResults": [], "message": "SyntaxError\nmore"},
    ]
    output = b"a word before\n" + json.dumps({"testResults": files}).encode() + b"\n"

    for name in ("jest", "vitest"):
        report = RUNNERS[name].parse(output, 1)
        assert (report.passed, report.failed, report.skipped, report.verdict) == (1, 2, 1, "failed")
        assert report.failures == (
            Failure(name="divides", where="/w/a.test.js", message="Error: by zero"),
            Failure(name="/w/b.test.js", where="/w/b.test.js", message="SyntaxError"),
        )


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("Tests:       1 failed, 1 skipped, 2 passed, 4 total\n", (2, 1, 1)),
        ("\x1b[1m      Tests \x1b[0m 1 failed | 2 passed (3)\n", (2, 1, 0)),
        ("# tests 4\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 1\n", (2, 1, 1)),
        ("  2 passing (10ms)\n  1 pending\n  1 failing\n", (2, 1, 1)),
    ],
    ids=["jest", "vitest", "node", "mocha"],
)
def test_npm_is_read_by_the_summary_of_what_is_behind_it(output: str, counts: tuple[int, int, int]) -> None:
    report = NPM.parse(output.encode(), 1)

    assert (report.passed, report.failed, report.skipped) == counts


def test_cargo_adds_up_its_binaries() -> None:
    output = b"""running 2 tests
test tests::adds ... ok
test tests::divides ... FAILED

---- tests::divides stdout ----
thread 'tests::divides' panicked at src/lib.rs:9:5:
attempt to divide by zero

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 1 test
test later ... ignored

test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""

    report = RUNNERS["cargo"].parse(output, 101)

    assert (report.passed, report.failed, report.skipped) == (1, 1, 1)
    message = "thread 'tests::divides' panicked at src/lib.rs:9:5:"
    assert report.failures == (Failure(name="tests::divides", where="tests", message=message),)
    assert RUNNERS["cargo"].parse(b"error[E0425]: cannot find value", 101).verdict == "failed"


def test_go_is_read_event_by_event() -> None:
    events = [
        {"Action": "run", "Package": "x/a", "Test": "TestGood"},
        {"Action": "pass", "Package": "x/a", "Test": "TestGood"},
        {"Action": "output", "Package": "x/a", "Test": "TestBad", "Output": "=== RUN   TestBad\n"},
        {"Action": "output", "Package": "x/a", "Test": "TestBad", "Output": "    a_test.go:9: got 1, want 2\n"},
        {"Action": "fail", "Package": "x/a", "Test": "TestBad"},
        {"Action": "skip", "Package": "x/a", "Test": "TestLater"},
        {"Action": "fail", "Package": "x/a"},
        {"Action": "fail", "Package": "x/broken"},
        {"Action": "skip", "Package": "x/none"},
    ]
    output = b"\n".join(json.dumps(event).encode() for event in events)

    report = RUNNERS["go"].parse(output, 1)

    assert (report.passed, report.failed, report.skipped) == (1, 2, 1)
    assert report.failures == (
        Failure(name="TestBad", where="x/a", message="a_test.go:9: got 1, want 2"),
        Failure(name="x/broken", where="x/broken"),
    )


def test_095_a_status_of_nought_alone_is_not_called_a_success() -> None:
    other = RUNNERS["other"]

    assert other.parse(b"all 100 tests passed", 0).verdict == "uncounted"
    assert other.parse(b"", 1).verdict == "failed"


@pytest.mark.parametrize("name", RUNNERS)
def test_095_counts_that_look_good_do_not_outweigh_a_bad_status(name: str) -> None:
    for output in (b"3 passed in 0.01s\n", b"Ran 3 tests in 0.1s\n\nOK\n", b"Tests: 3 passed, 3 total\n"):
        assert RUNNERS[name].parse(output, 1).verdict == "failed"


@pytest.mark.parametrize("name", RUNNERS)
@given(
    output=st.binary() | st.text().map(str.encode) | st.from_regex(r'\{"testResults": ?[\[{].*').map(str.encode),
    status=st.integers(0, 255),
)
def test_no_output_makes_a_parser_fail(name: str, output: bytes, status: int) -> None:
    report = RUNNERS[name].parse(output, status)

    assert report.verdict != "passed" or report.ran > 0


@pytest.mark.parametrize("name", ["jest", "go"])
def test_json_of_any_depth_or_shape_is_survived(name: str) -> None:
    shapes = [
        '{"testResults": [[], 1, {"assertionResults": 3}, {"assertionResults": [null, {"status": []}]}]}',
        '{"Action": ["x"]}',
    ]

    for text in ('{"a":' * 100_000, "[" * 100_000, *shapes):
        assert RUNNERS[name].parse(text.encode(), 0).verdict != "passed"


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"Cargo.toml", "package.json"}, "cargo"),
        ({"go.mod"}, "go"),
        ({"package.json", "vitest.config.ts"}, "vitest"),
        ({"package.json", "jest.config.js"}, "jest"),
        ({"package.json"}, "npm"),
        ({"tests/test_a.py"}, "pytest"),
        ({"src/tests.py"}, "unittest"),
    ],
)
def test_the_files_tell_which_runner_it_is(files: set[str], name: str) -> None:
    fitting = [runner.name for runner in RUNNERS.values() if runner.plan(frozenset(files), ()) is not None]

    assert fitting[0] == name
    assert [one for one in RUNNERS.values() if one.plan(frozenset(("README.md",)), ()) is not None] == []


@pytest.mark.parametrize("name", [name for name in RUNNERS if name != "other"])
def test_what_is_wanted_is_never_an_option(name: str) -> None:
    files = frozenset(("Cargo.toml", "go.mod", "package.json", "jest.config.js", "vitest.config.js", "test_a.py"))

    argv = RUNNERS[name].plan(files, ("--evil=x", "-p"))

    assert argv is not None
    assert argv[-2:] == ("./--evil=x", "./-p")
