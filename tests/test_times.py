"""What `make test` prints at its end."""

from tests.times import lines_of_times, sum_by_test

LONG = "tests/runs/actions/test_approve.py::test_" + "a_name_that_is_a_sentence_" * 5 + "[süß]"
DURATIONS = [("tests/a/test_x.py::one", 0.5), ("tests/a/test_x.py::one", 1.0), ("tests/a/test_y.py::two", 2.0),
             ("tests/test_top.py::three", 0.25), (LONG, 9.0)]  # fmt: skip


def test_set_up_and_call_are_added() -> None:
    assert sum_by_test(DURATIONS)["tests/a/test_x.py::one"] == 1.5


def test_the_slowest_come_first_and_folders_are_summed() -> None:
    lines = lines_of_times(sum_by_test(DURATIONS), 2, by_file=False)

    assert lines[0] == "the 2 slowest tests:"
    assert [line.split()[0] for line in lines[1:3]] == ["9.00", "2.00"]
    assert lines[3] == "by folder, 13 s in all:"
    assert [line.split() for line in lines[5:]] == [
        ["3.50", "s", "2", "tests", "tests/a"],
        ["0.25", "s", "1", "tests", "tests"],
    ]


def test_files_are_summed_on_demand() -> None:
    lines = lines_of_times(sum_by_test(DURATIONS), 40, by_file=True)

    assert any(line.endswith(" 1 tests  tests/a/test_y.py") for line in lines)


def test_no_line_is_wider_than_a_terminal() -> None:
    assert all(len(line) <= 80 for line in lines_of_times(sum_by_test(DURATIONS), 40, by_file=True))
