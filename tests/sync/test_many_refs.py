"""Many refs between two clones: how many git children a sync starts does not depend on how many runs there are."""

import json
import os
import shutil
from pathlib import Path

import pytest

from gitnexus.git import exchange
from gitnexus.git.discovery import discover
from gitnexus.git.exchange import RefUpdate, push_ref_updates
from gitnexus.sync import stopped_runs
from tests.conftest import Nexus, run_git
from tests.sync.two import Clone


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for every git that is started through PATH."""
    shim, lines = tmp_path / "bin" / "git", tmp_path / "calls"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$@" >> {lines}\nexec {shutil.which("git")} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    return lines


def started(calls: Path, clone: Clone) -> list[str]:
    """Sync, and return the verbs of the git children that it started."""
    calls.write_text("")
    done = clone.sync()
    assert (done.pulled, done.pushed, done.said) == ([], [], [])
    verbs = (
        "ls-remote",
        "for-each-ref",
        "fetch",
        "push",
        "update-ref",
        "show-ref",
        "merge-base",
        "rev-list",
        "cat-file",
    )
    return [verb for line in calls.read_text().splitlines() for verb in verbs if f" {verb} " in f" {line} "]


def test_an_idle_sync_asks_the_remote_once_and_starts_no_child_for_a_run(ada: Clone, calls: Path) -> None:
    nexus = Nexus(ada.place)
    json.loads(nexus("run", "--json", "--", "true").stdout)
    ada.sync()
    few = started(calls, ada)
    for _ in range(3):
        nexus.ok("run", "--", "true")
    ada.sync()

    many = started(calls, ada)

    assert many == few
    assert sorted(many) == ["for-each-ref", "ls-remote"]


def test_an_idle_sync_opens_no_log_of_a_run_that_ended_and_is_published(
    ada: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    nexus = Nexus(ada.place)
    run = json.loads(nexus("run", "--json", "--", "true").stdout)["run"]["id"]
    ada.sync()
    ada.sync()
    opened: list[str] = []
    last_events = stopped_runs._last_events
    monkeypatch.setattr(stopped_runs, "_last_events", lambda folder: opened.append(folder.name) or last_events(folder))

    ada.sync()
    assert opened == []
    log = ada.place / ".git" / "nexus" / "runs" / run / "events.jsonl"
    log.write_bytes(log.read_bytes())
    ada.sync()

    assert opened == [run]


@pytest.mark.slow
def test_an_idle_sync_of_archived_runs_asks_the_remote_once(ada: Clone, calls: Path) -> None:
    nexus = Nexus(ada.place)
    for _ in range(2):
        nexus.ok("run", "--", "true")
    nexus.ok("clean")
    ada.sync()

    assert [verb for verb in started(calls, ada) if verb != "for-each-ref"] == ["ls-remote"]


def test_more_refs_than_a_command_line_holds_go_in_several_pushes(
    ada: Clone, hub: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = run_git(ada.place, "rev-parse", "HEAD").strip()
    monkeypatch.setattr(exchange, "_MOST_AT_ONCE", 2)
    orders = [RefUpdate(f"refs/nexus/runs/r{number}", tip) for number in range(5)]

    done = push_ref_updates(discover(ada.place), "origin", orders)

    assert {ref: one.kind for ref, one in done.items()} == {order.ref: "done" for order in orders}
    assert sum(" push " in f" {line} " for line in calls.read_text().splitlines()) == 3
    assert len(run_git(hub, "for-each-ref", "refs/nexus/runs").splitlines()) == 5
