"""What was signed in the future holds nowhere, says so, and makes nothing older that was signed at the right time."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.policy.approver_changes import add_approver, read_candidate_key
from gitnexus.policy.signed import content_digest
from gitnexus.projects.open_state import open_state
from tests.attacks.conftest import STATE
from tests.attacks.machines import Machine
from tests.attacks.test_orders import order, work
from tests.attacks.test_pinned_project import OPEN, land, publish
from tests.conftest import Nexus, trust
from tests.policy.signing import Key
from tests.runs.scene import RunScene

YEAR = timedelta(days=365)


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Do something in this process while its clock is a year ahead."""

    def act(deed: Callable[[], object]) -> None:
        with monkeypatch.context() as patch:
            for module in ("trust", "approver_changes", "signed", "approvers", "witness"):
                patch.setattr(f"gitnexus.policy.{module}.utc_now", lambda: utc_now() + YEAR, raising=False)
            deed()

    return act


def test_a_policy_that_was_signed_in_the_future_waits_for_a_signature_of_today(
    project: Path, nexus: Nexus, ahead: Callable[..., None]
) -> None:
    (project / ".nexus/policy.md").write_text(OPEN)
    nexus.ok("status")
    ahead(lambda: trust(project))

    said = nexus("status").stdout
    nexus.ok("policy", "trust", "--confirm", content_digest((project / ".nexus/policy.md").read_bytes()))
    after = nexus("status").stdout

    assert "it was signed in the future" in said
    assert "not in force" not in after


def test_a_newcomer_takes_no_honest_state_for_an_older_one(
    project: Path, nexus: Nexus, clone: Callable[..., Path], ahead: Callable[..., None]
) -> None:
    (project / ".nexus/policy.md").write_text(OPEN)
    nexus.ok("status")
    ahead(lambda: trust(project))
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"}, seen=(seen_of(nexus), f"policy.md {format_timestamp(utc_now() + YEAR)}"))
    land(project, scene)
    trust(project)
    publish(project, "main", STATE)
    place = clone()

    begun = nexus("init", place=place)

    assert "older than one that was in force" not in begun.stdout + begun.stderr


def seen_of(nexus: Nexus) -> str:
    return str(json.loads(nexus.ok("approver", "list", "--json"))["pin"]).split("/")[1]


@pytest.mark.slow
def test_a_clone_takes_in_what_was_signed_after_one_of_the_future(
    ada: Machine, hub: Path, ahead: Callable[..., None]
) -> None:
    bob = Machine(hub, "bob")
    bob.consent()
    with ada.here():
        (ada.place / ".nexus/policy.md").write_text(OPEN)
        ada.ok("status")
        ahead(lambda: trust(ada.place))
    ada.sync()
    bob.sync()
    with ada.here():
        (ada.place / ".nexus/policy.md").write_text("---\nversion: 1\n---\n")
        ada.ok("status")
        trust(ada.place)
    ada.sync()

    done = bob.sync()

    assert done.held == {}
    assert "not in force" not in bob("status").stdout


def test_a_key_that_was_added_in_the_future_signs_nothing_yet(
    project: Path, nexus: Nexus, clone: Callable[..., Path], ahead: Callable[..., None]
) -> None:
    grace = Key()
    state = open_state(project)
    ahead(lambda: add_approver(state, read_candidate_key(project, grace.public, "Grace")))
    state.close()
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"}, signer=grace)
    land(project, scene)

    done = nexus("verify", "--json", f"{scene.base}..HEAD")

    assert "Grace was added in the future" in json.loads(done.stdout)["commits"][0]["reason"]
    assert nexus.ok("approver", "revoke", "Grace")


def test_an_order_from_the_future_is_left_alone_with_the_reason(ada: Machine) -> None:
    soon = order(ada, created=format_timestamp(utc_now() + timedelta(hours=1)))

    done, said = work(ada)

    assert done == []
    assert len(said) == 1
    assert f"{soon.id} is left in the queue: the order for {soon.id} was signed in the future" in said[0]


def test_an_order_of_a_clock_that_is_a_little_ahead_is_carried_out(ada: Machine) -> None:
    soon = order(ada, created=format_timestamp(utc_now() + timedelta(minutes=5)))

    assert work(ada)[0] == [soon.id]
