"""The records of runs."""

from pathlib import Path

import pytest

from gitnexus.base.errors import NotFound
from gitnexus.runs.model import Run
from gitnexus.runs.store import read_all_runs, read_run, record_path, run_ids, update_run, write_run
from gitnexus.state import Change, State
from tests.conftest import run_git

FIRST = Run(id="261116-1503-k7fb", title="first", agent="command", base="0" * 40, definition="sha256:0", created="")
SECOND = FIRST.changed(id="261116-1504-k7fb", title="second")


@pytest.fixture
def state(project: Path) -> State:
    found = State.open(project)
    write_run(found, SECOND, "second")
    write_run(found, FIRST, "first")
    return found


def test_runs_come_back_the_oldest_first(state: State) -> None:
    snapshot = state.required()

    assert run_ids(snapshot) == [FIRST.id, SECOND.id]
    assert read_all_runs(snapshot) == [FIRST, SECOND]
    assert read_run(snapshot, SECOND.id) == SECOND


def test_what_is_no_record_is_passed_over_and_a_newer_field_is_kept(state: State, project: Path) -> None:
    newer = FIRST.to_bytes().replace(b"{", b'{"later": 1, ', 1)
    state.transact(
        lambda snapshot: Change(
            {record_path(FIRST.id): newer, record_path(SECOND.id): b"{", "runs/notes.txt": b"x", "runs/x.json": b"{}"},
            "w",
            None,
        )
    )

    update_run(state, FIRST.id, lambda run: run.changed(status="completed"), "done")

    assert [(run.id, run.status) for run in read_all_runs(state.required())] == [(FIRST.id, "completed")]
    assert '"later":1' in run_git(project, "show", f"refs/nexus/state:{record_path(FIRST.id)}")


def test_a_change_that_changes_nothing_writes_nothing(state: State, project: Path) -> None:
    before = run_git(project, "rev-parse", "refs/nexus/state")

    update_run(state, FIRST.id, lambda run: run, "nothing")

    assert run_git(project, "rev-parse", "refs/nexus/state") == before


def test_a_run_that_is_not_there_is_told(state: State) -> None:
    with pytest.raises(NotFound):
        update_run(state, "261116-1505-k7fb", lambda run: run, "none")
