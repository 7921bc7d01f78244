"""A pusher commits an older signed file on top of a newer one: a clone that only knows the older keeps the newer."""

from pathlib import Path

import pytest

from tests.attacks.conftest import STATE
from tests.attacks.machines import Machine
from tests.conftest import run_git, trust
from tests.policy.signing import Key


@pytest.fixture
def carl(hub: Path, ada: Machine) -> Machine:
    machine = Machine(hub, "carl", ada.prepared)
    machine.step("consent", machine.consent)
    return machine


def put_back(hub: Path, old: str, *paths: str) -> None:
    """Push a commit that goes on from the state of the server and has old contents of some files."""
    tip = run_git(hub, "rev-parse", STATE).strip()
    run_git(hub, "read-tree", tip)
    run_git(hub, "update-index", "--index-info", stdin=run_git(hub, "ls-tree", old, *paths))
    tree = run_git(hub, "write-tree").strip()
    run_git(hub, "update-ref", STATE, run_git(hub, "commit-tree", "-p", tip, "-m", "sync", tree).strip())


def sign_policy(machine: Machine, text: str) -> None:
    (machine.place / ".nexus" / "policy.md").write_text(text)
    machine.ok("status")
    with machine.here():
        trust(machine.place)


def test_a_policy_that_was_put_back_on_top_is_not_taken(ada: Machine, carl: Machine, hub: Path) -> None:
    sign_policy(ada, "---\nversion: 1\n---\n")
    ada.sync()
    carl.sync()
    old = run_git(hub, "rev-parse", STATE).strip()
    sign_policy(ada, "---\nversion: 1\ndeny:\n- {name: noid, run: [id, '**']}\n---\n")
    ada.sync()
    put_back(hub, old, "policy.md", "policy/signatures.json")

    done = carl("sync")

    assert "policy.md" in done.stdout + done.stderr
    assert "an older version" in done.stdout + done.stderr
    assert "project.noid" in carl.ok("policy", "show")
    assert carl("run", "--", "id").returncode == 20
    assert "noid" in run_git(hub, "show", f"{STATE}:policy.md")


def test_a_revocation_that_was_put_back_on_top_stands(ada: Machine, carl: Machine, hub: Path) -> None:
    zed = Key()
    ada.ok("approver", "add", zed.public, "--name", "Zed", "--confirm", zed.key_id)
    ada.sync()
    carl.sync()
    old = run_git(hub, "rev-parse", STATE).strip()
    ada.ok("approver", "revoke", "Zed")
    ada.sync()
    put_back(hub, old, "approvers")

    done = carl("sync")

    assert "approvers" in done.stdout + done.stderr
    rows = {row["name"]: row for row in carl.json("approver", "list")["approvers"]}
    assert rows["Zed"]["revokedAt"]
