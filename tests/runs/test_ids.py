"""Names of runs."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Failed, NotFound
from gitnexus.runs.ids import is_run_id, match_run_id, new_run_id, run_branch_ref

TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
RUNS = ("261116-1503-k7fb", "261116-1503-k8bb", "261117-0900-zzzz2222", "261118-0900-k9fbdcfg", "261118-0901-k9fbhjkm")


@given(TIMES, st.integers(67, 10**9))
def test_names_sort_by_time(begin: datetime, milliseconds: int) -> None:
    later = begin + timedelta(milliseconds=milliseconds)

    assert new_run_id(begin) < new_run_id(later)


@given(TIMES)
def test_a_name_is_known_as_one_and_fits_into_a_ref(now: datetime) -> None:
    name = new_run_id(now)

    assert is_run_id(name)
    assert run_branch_ref(name) == f"refs/heads/nexus/{name}"
    assert not is_run_id(f"{name}\n")
    assert not is_run_id(f"../{name}")


def test_a_name_that_is_taken_is_not_given_again() -> None:
    now = datetime(2026, 11, 16, 15, 3, tzinfo=UTC)
    taken: set[str] = set()

    for _ in range(300):
        taken.add(new_run_id(now, taken))

    assert len(taken) == 300


def test_machines_that_begin_at_the_same_moment_get_different_names() -> None:
    now = datetime(2026, 11, 16, 15, 3, tzinfo=UTC)

    assert len({new_run_id(now) for _ in range(1000)}) == 1000


def test_names_of_older_versions_are_known() -> None:
    assert is_run_id("261116-1503-k7fb")
    assert not is_run_id("261116-1503-k7fb2")


@pytest.mark.parametrize(
    ("word", "run"),
    [
        pytest.param(RUNS[0], RUNS[0], id="whole"),
        pytest.param("261117", RUNS[2], id="beginning"),
        pytest.param("k7fb", RUNS[0], id="end, as older versions made it"),
        pytest.param("zzzz2222", RUNS[2], id="end"),
        pytest.param("zzzz", RUNS[2], id="beginning of the end"),
        pytest.param("k9fbh", RUNS[4], id="as much of the end as it takes"),
        pytest.param(f"nexus/{RUNS[1]}", RUNS[1], id="branch"),
        pytest.param(f"refs/heads/nexus/{RUNS[1]}", RUNS[1], id="ref"),
    ],
)
def test_a_word_means_the_one_run_that_it_fits(word: str, run: str) -> None:
    assert match_run_id(word, RUNS) == run


@pytest.mark.parametrize("word", ["", "nexus/", "7fb", "zzz", "2222", "261116-1503-k7fb2", "*", "--all"])
def test_a_word_that_fits_none_is_told(word: str) -> None:
    with pytest.raises(NotFound):
        match_run_id(word, RUNS)


def test_a_word_that_fits_several_names_them() -> None:
    with pytest.raises(Failed, match="261116-1503-k7fb, 261116-1503-k8bb"):
        match_run_id("261116", RUNS)
    with pytest.raises(Failed, match="261118-0900-k9fbdcfg, 261118-0901-k9fbhjkm"):
        match_run_id("k9fb", RUNS)
