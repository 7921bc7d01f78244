"""Whatever an agent proposes: the text that a person saw before the yes holds every byte of it, or there was no yes."""

import contextlib
import random
from collections import Counter
from pathlib import Path

import pytest

from gitnexus.base.errors import NexusError
from gitnexus.runs.agent.tools import call_run_tool
from tests.attacks.hostile_actions import Hostile, hostile, proposal, refuse_unseen, unseen_in
from tests.conftest import Nexus
from tests.runs.begun import begun
from tests.seeds import chance_of


def answers_by_kind(
    project: Path, patch: pytest.MonkeyPatch, chance: random.Random, count: int
) -> Counter[tuple[str, bool]]:
    """Return how many actions of each kind were approved, and how many were not."""
    answers: Counter[tuple[str, bool]] = Counter()
    for _ in range(count):
        action = hostile(chance, project)
        answers[action.request.kind, refuse_unseen(action, chance, project, patch)] += 1
    return answers


# Each kind is approved now and then: what nobody ever approves would prove nothing.
EVERY_ANSWER = {(kind, approved) for kind in ("command", "handoff", "patch") for approved in (True, False)}


def test_no_byte_is_approved_unseen(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(answers_by_kind(project, monkeypatch, random.Random(18), 40)) == EVERY_ANSWER


def answered(project: Path, nexus: Nexus, chance: random.Random, count: int) -> tuple[int, int]:
    """Propose as an agent does, review and approve by the commands; return how many were approved and refused."""
    yes = 0
    with begun(project) as desk:
        for begin in range(0, count, 10):
            waiting: dict[str, Hostile] = {}
            for number in range(begin, min(begin + 10, count)):
                tool, given, action = proposal(chance, number)
                with contextlib.suppress(NexusError):  # as a word that looks like a secret, which the log would keep
                    waiting[call_run_tool(desk, tool, given)["action"]] = action
            screen = nexus("review", desk.record.id).stdout
            for name, action in waiting.items():
                done = nexus("approve", desk.record.id, name)
                assert "E_BUG" not in done.stderr
                if done.returncode == 0:
                    missing = unseen_in(action, screen)
                    assert not missing, (missing[:3], screen[:2000])
                    yes += 1
            for name, found in desk.view().actions.items():
                if found.status == "waiting":
                    nexus("deny", desk.record.id, name)
    return yes, count - yes


def test_what_the_commands_show_is_all_that_they_approve(project: Path, nexus: Nexus) -> None:
    assert answered(project, nexus, random.Random(18), 2)[0] > 0


@pytest.mark.slow(seconds=70)
def test_what_the_commands_show_of_a_hundred_hostile_actions_is_all_that_they_approve(
    project: Path, nexus: Nexus
) -> None:
    yes, no = answered(project, nexus, chance_of("commands"), 100)

    assert min(yes, no) > 0


@pytest.mark.slow(seconds=40)
@pytest.mark.parametrize("part", range(10))
def test_no_byte_of_ten_thousand_hostile_actions_is_approved_unseen(
    project: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    answers = answers_by_kind(project, monkeypatch, chance_of(part), 1_000)

    assert set(answers) == EVERY_ANSWER
    assert answers["patch", True] > 10
