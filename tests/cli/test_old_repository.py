"""A repository of version 0.1.0: all that is in it opens, verifies and goes on, by the commands that a person types.

tests/data/README.md tells how it was made; tests/slow/test_old_repository.py goes on with it on other machines.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.ui.output import count_of
from tests.conftest import Nexus, Templates, run_git
from tests.old_repository import OldRepository, restore

WAITS = 21


@pytest.fixture
def old(tmp_path: Path, sealed: Path, templates: Templates) -> OldRepository:
    return restore(tmp_path, sealed / "nexus", templates)


@pytest.fixture
def nexus(old: OldRepository) -> Nexus:
    return Nexus(old.place)


def answer(nexus: Nexus, *argv: str) -> Any:
    return json.loads(nexus.ok(*argv, "--json"))


def test_runs_have_the_status_that_they_had(nexus: Nexus, old: OldRepository) -> None:
    listed = {run["id"]: (run["status"], run["waits"], run["title"]) for run in answer(nexus, "runs", "--all")["runs"]}

    assert {word: listed[run] for word, run in old.runs.items()} == {
        "archived": ("landed", "", "Write a notice"),
        "asking": ("waiting", "1 waiting", "add a licence"),
        "cancelled": ("cancelled", "1 waiting", "Write a poem"),
        "denied": ("failed", "", "Write a slogan"),
        "landed": ("landed", "", "Write the hours"),
        "rescued": ("cancelled", "1 waiting", "Write a riddle"),
        "waiting": ("waiting", "1 waiting", "Write the address"),
        "workflow": ("completed", "", "compare, plan and implement the steps in TODO.md"),
    }
    assert set(listed) == set(old.runs.values())


@pytest.mark.parametrize(
    ("word", "events", "tokens", "commits"),
    [
        ("archived", 19, 1, 1),
        ("asking", 13, 0, 0),
        ("cancelled", 10, 0, 0),
        ("denied", 11, 0, 0),
        ("landed", 18, 1, 1),
        ("rescued", 11, 0, 0),
        ("waiting", 8, 0, 0),
        ("workflow", 51, 4, 2),
    ],
)
def test_the_log_of_each_run_verifies(
    nexus: Nexus, old: OldRepository, word: str, events: int, tokens: int, commits: int
) -> None:
    done = nexus("replay", old.runs[word], "--verify")

    assert done.returncode == 0, done.stderr
    told = done.stdout + done.stderr
    counted = f"{count_of(events, 'event')} in one chain, {count_of(tokens, 'token')}, {count_of(commits, 'commit')}"
    assert f"{counted}: all valid" in told
    assert "signed by the machine of Old Person, this machine" in told
    # What the engine of that version did, the engine of this one does again.
    assert ("the same state sha256:" in told) == (word in ("asking", "workflow"))


def test_what_was_landed_then_is_approved_now(nexus: Nexus, old: OldRepository) -> None:
    verified = answer(nexus, "verify", "main")

    assert verified["ok"]
    assert [(commit["status"], commit["run"]) for commit in verified["commits"]] == [
        ("unapproved", ""),
        ("unapproved", ""),
        ("approved", old.runs["archived"]),
        ("approved", ""),
        ("approved", old.runs["landed"]),
        ("approved", ""),
    ]


def test_a_patch_that_waited_is_shown_approved_and_landed(nexus: Nexus, old: OldRepository) -> None:
    shown = nexus("review", old.runs["waiting"])
    approved = answer(nexus, "approve", old.runs["waiting"])
    nexus.ok("land", old.runs["waiting"])

    assert (shown.returncode, "+High Street 1" in shown.stdout) == (WAITS, True)
    assert approved["run"]["status"] == "completed"
    assert run_git(old.place, "show", "main:address.txt") == "High Street 1\n"
    patch, merge = answer(nexus, "verify", "main~..main")["commits"]
    assert (patch["status"], patch["run"], merge["status"]) == ("approved", old.runs["waiting"], "approved")


def test_a_workflow_that_was_done_lands_with_its_papers(nexus: Nexus, old: OldRepository) -> None:
    run = old.runs["workflow"]

    kept = [row["name"] for row in answer(nexus, "artifacts", run)["artifacts"]]
    nexus.ok("land", run)

    assert {"research.json", "research.md", "plan.json", "pack.json", "exec_result.json"} <= set(kept)
    assert run_git(old.place, "show", "main:shop.py") == "price = 12\n"
    assert {path.name for path in (old.place / ".nexus" / "plans").iterdir()} >= {f"plan.{run}.plan.json"}


def test_the_backlog_is_as_it_was(nexus: Nexus, old: OldRepository) -> None:
    tasks = {task["id"]: task for task in answer(nexus, "task", "list", "--all")["tasks"]}
    shown = answer(nexus, "task", "show", "T3")
    waits = answer(nexus, "deps", "T3")
    added = answer(nexus, "task", "add", "Open the door", "--depends", "T3")

    assert {name: (task["title"], task["status"]) for name, task in tasks.items()} == {
        "T1": ("Sell things", "pending"),
        "T2": ("Raise the price", "pending"),
        "T3": ("Print the new price", "pending"),
        "T4": ("Count the stock", "done"),
    }
    assert (tasks["T2"]["claim"]["by"], tasks["T2"]["parentId"]) == ("builder", "T1")
    assert shown["relates"] == [{"taskId": "T4", "type": "spawned-from", "reason": "seen while counting"}]
    assert (waits["blocked"], [row["title"] for row in waits["dependencies"]]) == (True, ["Raise the price"])
    assert added["task"]["id"] == "T6"  # T5 was deleted, and its number is not given again


def test_notes_rules_cycles_and_the_agenda_are_as_they_were(nexus: Nexus, old: OldRepository) -> None:
    results = answer(nexus, "memory", "search", "dry", "run")["results"]
    cycles = answer(nexus, "history")["cycles"]
    plan = answer(nexus, "plan", "show")

    assert [(row["kind"], row["name"]) for row in results] == [("memory", "incident-deploy-order")]
    assert "The second host answers late." in nexus.ok("memory", "show", "incident-deploy-order")
    assert nexus.ok("memory", "list").count("\n") == 3
    assert "Prices are whole numbers." in nexus.ok("rule", "list")
    assert [(cycle["topic"], cycle["task_count"]) for cycle in cycles] == [("the till", 1)]
    assert cycles[0]["decisions"] == [{"title": "which currency?", "decision": "euros, in whole numbers"}]
    assert (plan["topic"], plan["summary"]["decided"], plan["issues"][0]["decision"]) == ("the window", 1, "green")
    assert "active  1/2  Opening" in nexus.ok("agenda", "show")


def test_policy_and_settings_count_as_they_were_signed(nexus: Nexus, old: OldRepository) -> None:
    policy = answer(nexus, "policy", "show")

    assert policy["project"] == {"exists": True, "trusted": True}
    assert [(rule["verdict"], rule["subject"], rule["patterns"]) for rule in policy["rules"]] == [
        ("deny", "read", ["customers/**"]),
        ("allow", "write", ["docs/**"]),
    ]
    assert answer(nexus, "status")["untrusted"] == []
    assert "Old Person  since 2026-02-01  first, yours" in nexus.ok("approver", "list")


def test_a_context_pack_is_built_again_to_the_byte(nexus: Nexus, old: OldRepository) -> None:
    assert answer(nexus, "pack", "check", old.names["pack"])["ok"]
    assert "price = 10" in nexus.ok("pack", "show", old.names["pack"])


def test_an_order_still_waits_on_the_server_and_the_state_goes_there(nexus: Nexus, old: OldRepository) -> None:
    queue = answer(nexus, "queue")["queue"]
    nexus.ok("task", "add", "Open the door")
    nexus.ok("sync")

    assert [(order["id"], order["labels"]) for order in queue] == [(old.names["queued"], ["till"])]
    sent, kept = (run_git(place, "rev-parse", "refs/nexus/state") for place in (old.server, old.place))
    assert sent == kept


def test_nothing_is_wrong_once_the_hooks_are_those_of_this_version(nexus: Nexus, old: OldRepository) -> None:
    nexus.ok("project", "move", "shop", ".")
    fixed = answer(nexus, "doctor", "--fix")["findings"]

    checked = answer(nexus, "doctor")
    assert [finding["check"] for finding in fixed if finding["state"] == "fixed"] == ["hooks"]
    assert checked["healthy"]
    # A bundle carries no reflogs.
    assert [finding["check"] for finding in checked["findings"] if finding["state"] != "ok"] == ["reflog"]
