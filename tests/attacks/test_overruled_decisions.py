"""A decision of a machine for which no approver vouches gives way to the signed log, in the clone that made it, too."""

import json

import pytest

from tests.attacks.machines import Machine
from tests.attacks.test_forged_history import denied_as_ada, status, waiting  # noqa: F401 (a fixture)
from tests.conftest import run_git


def approve_and_land(ada: Machine, run: str) -> None:
    ada.sync()
    ada.ok("approve", "--unseen", run)
    ada.ok("land", run)
    run_git(ada.place, "push", "-q", "origin", "HEAD:main")
    ada.sync()


def disputed(machine: Machine, run: str) -> bool:
    return bool(next(row for row in machine.json("runs", "--all")["runs"] if row["id"] == run)["disputed"])


@pytest.mark.parametrize("no", ["deny", pytest.param("cancel", marks=pytest.mark.slow)])
def test_the_clone_that_said_no_in_another_name_takes_the_signed_log_and_says_so(
    ada: Machine,
    mallory: Machine,
    waiting: str,  # noqa: F811
    no: str,
) -> None:
    mallory.consent()
    mallory.sync()
    run_git(mallory.place, "config", "user.name", "Ada")
    mallory.ok(no, waiting, "--reason", "no good")
    mallory.sync()
    approve_and_land(ada, waiting)

    said = mallory.sync().said

    assert any(f"the log of {waiting} here ended with a decision" in line for line in said), said
    assert any("for which no approver vouches; the signed one there takes its place" in line for line in said), said
    assert (status(mallory, waiting), disputed(mallory, waiting)) == ("landed", False)
    assert "no good" not in mallory.ok("replay", waiting)
    assert mallory("replay", waiting, "--verify", "--require-signed").returncode == 0
    assert [mallory.sync().said, ada.sync().said, mallory.sync().pushed] == [[], [], []]


@pytest.mark.slow
def test_a_signed_log_that_came_in_an_archive_takes_its_place_too(
    ada: Machine,
    mallory: Machine,
    waiting: str,  # noqa: F811
) -> None:
    mallory.consent()
    mallory.sync()
    denied_as_ada(mallory, waiting)
    approve_and_land(ada, waiting)
    ada.ok("clean", waiting)
    ada.sync()

    said = mallory.sync().said

    assert any("the signed one there takes its place" in line for line in said), said
    assert (status(mallory, waiting), disputed(mallory, waiting)) == ("landed", False)
    assert run_git(mallory.place, "for-each-ref", "refs/nexus/runs") == ""
    assert mallory("replay", waiting, "--verify", "--require-signed").returncode == 0
    assert [mallory.sync().said, ada.sync().said] == [[], []]


def test_a_no_that_nobody_else_has_answered_stays(
    ada: Machine,
    mallory: Machine,
    waiting: str,  # noqa: F811
) -> None:
    mallory.consent()
    mallory.sync()
    mallory.ok("deny", waiting, "--reason", "no good")
    mallory.sync()
    ada.sync()

    mallory.sync()

    assert "no good" in mallory.ok("replay", waiting)


@pytest.mark.slow
def test_a_clone_that_trusts_nobody_is_told_how_the_signed_log_comes_to_count(
    ada: Machine,
    mallory: Machine,
    waiting: str,  # noqa: F811
) -> None:
    mallory.sync()
    denied_as_ada(mallory, waiting)
    approve_and_land(ada, waiting)

    said = mallory.sync().said

    assert any("git nexus approver trust" in line for line in said), said
    assert not disputed(mallory, waiting)
    mallory.consent()
    mallory.sync()
    assert status(mallory, waiting) == "landed"


def test_a_claimed_no_contradicts_nothing(ada: Machine, mallory: Machine) -> None:
    run = mallory.begin_waiting_run("echo good > good.txt")
    mallory.sync()
    ada.sync()
    ada.ok("approve", "--unseen", run)
    denied_as_ada(mallory, run)

    ada.sync()

    assert not disputed(ada, run)
    ada.ok("land", run)
    assert (ada.place / "good.txt").read_text() == "good\n"


def test_a_forged_contradiction_does_not_keep_approved_work_from_landing(ada: Machine, mallory: Machine) -> None:
    run = mallory.begin_waiting_run("echo good > good.txt")
    with mallory.run(run) as desk:
        desk.log.append(
            "decision.contradicted", "nexus", {"action": "a1", "here": "approved", "elsewhere": "denied", "text": "two"}
        )
        desk.write_checkpoint()
    mallory.sync()
    ada.sync()

    ada.ok("approve", "--unseen", run)

    assert not disputed(ada, run)
    ada.ok("land", run)


@pytest.mark.slow
def test_trailers_on_a_branch_without_a_token_that_proves_them_contradict_nothing(
    ada: Machine,
    mallory: Machine,
    waiting: str,  # noqa: F811
) -> None:
    ada.ok("deny", waiting)
    ada.sync()
    mallory.sync()
    base = run_git(mallory.place, "rev-parse", "origin/main").strip()
    words = f"made\n\nNexus-Run: {waiting}\nNexus-Action: a1\nNexus-Agent: command\nNexus-Approval: {'A' * 80}\n"
    forged = run_git(mallory.place, "commit-tree", f"{base}^{{tree}}", "-p", base, "-m", words).strip()
    run_git(mallory.place, "push", "-qf", "origin", f"{forged}:refs/heads/nexus/{waiting}")

    said = ada.sync().said

    assert not any("contradict" in line or "approved elsewhere" in line for line in said), said
    assert not disputed(ada, waiting)
    assert "decision.contradicted" not in json.dumps(ada.ok("replay", waiting, "--json"))
