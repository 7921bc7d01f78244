"""The records of runs."""

from pathlib import Path

import pytest

from gitnexus.base.errors import NotFound
from gitnexus.runs.model import Run
from gitnexus.runs.store import changed, ids_in, path_of, put, read, runs_in
from gitnexus.state import Change, State
from tests.conftest import run_git

FIRST = Run(id="261116-1503-k7fb", title="first", agent="command", base="0" * 40, definition="sha256:0", created="")
SECOND = FIRST.changed(id="261116-1504-k7fb", title="second")


@pytest.fixture
def state(project: Path) -> State:
    found = State.open(project)
    put(found, SECOND, "second")
    put(found, FIRST, "first")
    return found


def test_runs_come_back_the_oldest_first(state: State) -> None:
    snapshot = state.required()

    assert ids_in(snapshot) == [FIRST.id, SECOND.id]
    assert runs_in(snapshot) == [FIRST, SECOND]
    assert read(snapshot, SECOND.id) == SECOND


def test_what_is_no_record_is_passed_over_and_a_newer_field_is_kept(state: State, project: Path) -> None:
    newer = FIRST.to_bytes().replace(b"{", b'{"later": 1, ', 1)
    state.transact(
        lambda snapshot: Change(
            {path_of(FIRST.id): newer, path_of(SECOND.id): b"{", "runs/notes.txt": b"x", "runs/x.json": b"{}"},
            "w",
            None,
        )
    )

    changed(state, FIRST.id, lambda run: run.changed(status="completed"), "done")

    assert [(run.id, run.status) for run in runs_in(state.required())] == [(FIRST.id, "completed")]
    assert '"later":1' in run_git(project, "show", f"refs/nexus/state:{path_of(FIRST.id)}")


def test_a_change_that_changes_nothing_writes_nothing(state: State, project: Path) -> None:
    before = run_git(project, "rev-parse", "refs/nexus/state")

    changed(state, FIRST.id, lambda run: run, "nothing")

    assert run_git(project, "rev-parse", "refs/nexus/state") == before


def test_a_run_that_is_not_there_is_told(state: State) -> None:
    with pytest.raises(NotFound):
        changed(state, "261116-1505-k7fb", lambda run: run, "none")
