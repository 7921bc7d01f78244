"""The list of runs reads what changed: rows of ended runs are kept, and made anew when anything behind them changes."""

import json
from pathlib import Path

import pytest

from gitnexus.app import open_nexus
from gitnexus.events.log import RunLog
from gitnexus.runs.list import RunRow, list_runs
from tests.conftest import Nexus, run_git


def rows(project: Path) -> list[RunRow]:
    nexus = open_nexus(project)
    try:
        return list_runs(nexus.state, everything=True)
    finally:
        nexus.close()


def ended_run(nexus: Nexus) -> str:
    run: str = json.loads(nexus("run", "--json", "--", "true").stdout)["run"]["id"]
    return run


def test_a_second_list_is_the_same_and_reads_no_log(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended_run(nexus)
    before = rows(project)

    with monkeypatch.context() as patch:
        patch.setattr(RunLog, "raw", lambda self: pytest.fail(f"the log of {self.run} was read"))
        after = rows(project)

    assert [row.plain() | {"age": ""} for row in after] == [row.plain() | {"age": ""} for row in before]
    assert [row.status for row in after] == ["completed"]


def test_a_row_is_made_anew_when_log_or_branch_or_record_changed(nexus: Nexus, project: Path) -> None:
    run = ended_run(nexus)
    log = project / ".git" / "nexus" / "runs" / run / "events.jsonl"
    assert rows(project)[0].status == "completed"

    whole = log.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    cut = rows(project)[0].status
    log.write_bytes(whole)
    nexus.ok("clean", run)

    assert cut != "completed"
    assert [(row.id, row.branch, row.status) for row in rows(project)] == [(run, "", "completed")]
    assert run not in nexus.ok("runs")
    assert run in nexus.ok("runs", "--all")


def test_a_kept_row_that_is_no_row_is_made_anew(nexus: Nexus, project: Path, sealed: Path) -> None:
    run = ended_run(nexus)
    before = rows(project)
    (file,) = (sealed / "nexus" / "cache" / "runs").glob("*.json")
    file.write_text("{")

    after = rows(project)

    assert [row.id for row in after] == [run] == [row.id for row in before]
    assert json.loads(file.read_text())["rows"].keys() == {run}
    assert oct(file.stat().st_mode)[-3:] == "600"
    assert run_git(project, "status", "--short") == ""
