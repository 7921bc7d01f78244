"""A repository of version 0.1.0 goes on: on another machine, with a worker, with the workflow that asked something."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, Templates, run_git
from tests.old_repository import OldRepository, restore

LICENCE = "```diff\n--- /dev/null\n+++ b/LICENCE\n@@ -0,0 +1 @@\n+free\n```\n"
WAITS = 21


@pytest.fixture
def old(tmp_path: Path, sealed: Path, templates: Templates) -> OldRepository:
    return restore(tmp_path, sealed / "nexus", templates)


@pytest.fixture
def nexus(old: OldRepository) -> Nexus:
    return Nexus(old.place)


def answer(nexus: Nexus, *argv: str) -> Any:
    return json.loads(nexus.ok(*argv, "--json"))


def _status(nexus: Nexus, run: str) -> str:
    return next(str(row["status"]) for row in answer(nexus, "runs", "--all")["runs"] if row["id"] == run)


@pytest.mark.slow(seconds=8)
def test_another_machine_gets_all_of_it_and_verifies_it(
    nexus: Nexus, old: OldRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nexus.ok("sync")
    run_git(old.place, "push", "-q", "origin", "main")
    (first,) = answer(nexus, "approver", "list")["approvers"]
    run_git(tmp_path, "clone", "-q", str(old.server), "clone")
    monkeypatch.setenv("NEXUS_HOME", str(tmp_path / "other home"))
    clone = Nexus(tmp_path / "clone")

    clone.ok("init", "--name", "shop")
    clone.ok("approver", "trust", "--confirm", first["key"])
    clone.ok("sync")

    assert answer(clone, "policy", "show")["project"] == {"exists": True, "trusted": True}
    assert [task["id"] for task in answer(clone, "task", "list", "--all")["tasks"]] == ["T1", "T2", "T3", "T4"]
    counts = [commit["status"] for commit in answer(clone, "verify", "main")["commits"]]
    assert (counts.count("approved"), counts.count("unapproved")) == (4, 2)
    for run in old.runs.values():
        told = clone("replay", run, "--verify")
        assert told.returncode == 0, told.stderr
        assert "all valid" in told.stdout + told.stderr


@pytest.mark.slow(seconds=8)
def test_a_workflow_that_asked_takes_the_answer_and_ends(nexus: Nexus, old: OldRepository) -> None:
    run = old.runs["asking"]

    nexus.ok("answer", run, LICENCE)
    while _status(nexus, run) == "waiting":
        assert nexus("review", run).returncode == WAITS
        nexus.ok("approve", run)
    nexus.ok("land", run)

    assert run_git(old.place, "show", "main:LICENCE") == "free\n"
    told = nexus("replay", run, "--verify")
    assert "the same state sha256:" in told.stdout + told.stderr


@pytest.mark.slow(seconds=8)
def test_a_worker_leaves_the_order_that_expired_and_carries_out_a_new_one(nexus: Nexus, old: OldRepository) -> None:
    left = nexus("worker", "--labels", "till", "--once")
    nexus.ok("queue", "--drop", old.names["queued"])
    nexus.ok("run", "--queue", "--labels", "till", "--", "true")
    (order,) = answer(nexus, "queue")["queue"]
    nexus.ok("worker", "--labels", "till", "--once")
    nexus.ok("sync")

    assert f"the order for {old.names['queued']} expired" in left.stderr
    assert answer(nexus, "queue")["queue"] == []
    assert _status(nexus, order["id"]) == "completed"


@pytest.mark.slow(seconds=8)
def test_clean_puts_away_what_is_done_with_and_the_rescued_patch_is_still_held(
    nexus: Nexus, old: OldRepository
) -> None:
    nexus.ok("clean")

    left = run_git(old.place, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/nexus").split()
    assert set(left) == {old.runs[word] for word in ("asking", "waiting", "workflow")}
    assert run_git(old.place, "show", f"refs/nexus/rescue/{old.runs['rescued']}:riddle.txt") == "what\n"
    told = nexus("replay", old.runs["landed"], "--verify")
    assert "all valid" in told.stdout + told.stderr
