"""Each card as a real run brings it up: it comes, one key answers it, and what was decided happens."""

import json
from pathlib import Path

import pytest

from gitnexus.tui.model import ChatCard
from tests.conftest import Nexus, run_git, trust
from tests.runs.actions.test_handoff import HAND, scripts, written
from tests.runs.agent.test_agent_at_work import propose, view_of
from tests.runs.live import commits, events
from tests.runs.workflow.test_workflow import TODO, listed, patched
from tests.tui.scene import Person
from tests.tui.test_screen import talked

pytestmark = pytest.mark.slow
FAILING = "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 2)\n"


def inside(card: ChatCard) -> str:
    """Return all that a card says."""
    return "\n".join([card.title, *(line.text for line in card.rows),
                      *(line.text for part in card.sections for line in (part, *part.lines)
                        if hasattr(line, "text"))])  # fmt: skip


def done(project: Path, run: str) -> list[tuple[str, str]]:
    return [(one.kind, one.status) for one in view_of(project, run).actions.values()]


def test_a_step_that_is_too_big_brings_a_handoff_a_plan_patch_patches_and_a_command(project: Path) -> None:
    listed(project, patched("Make all of it", *(f"Büro {at}/ä {at}.txt" for at in range(9))))

    async def talk(person: Person) -> dict[str, ChatCard]:
        await person.asks("/plan-exec the steps in zu tun.md")
        await person.answers("workflow", "y")
        keys = (("handoff", "w"), ("plan_patch", "y"), ("patch", "y"), ("patch", "s"))
        found = {kind: await person.answers(kind, key, unfold=kind != "handoff") for kind, key in keys}
        await person.sees("is completed, 2 commits")
        return found

    cards = talked(project, talk)

    run = cards["handoff"].run
    assert done(project, run) == [(kind, "executed") for kind in ("handoff", "plan_patch", "patch", "patch", "command")]
    assert "46 complexity units of 40" in inside(cards["handoff"])
    assert "S1.1" in inside(cards["plan_patch"])
    assert "S1.1" in run_git(project, "show", f"refs/nexus/state:plans/plan.{run}.plan.json")
    scopes = [one["scope"] for one in events(project, run, "permission.granted")]
    assert scopes == ["workflow", "once", "once", "session", "once"]  # the last one for the proof, with its patch


def test_what_a_run_did_is_ticked_in_the_agenda_by_a_card_of_its_own(nexus: Nexus, project: Path) -> None:
    nexus.ok("agenda", "init")
    nexus.ok("agenda", "phase", "add", "core")
    nexus.ok("agenda", "phase", "start", "core")
    phase = project / "docs" / "phases" / "core.md"
    rows = TODO.partition("\n\n")[2].replace("\n\n", "\n")
    phase.write_text(phase.read_text().replace("DELIVERABLES:\n", f"DELIVERABLES:\n{rows}"))
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "an agenda")

    async def talk(person: Person) -> ChatCard:
        await person.asks("plan and implement the phase core")
        for kind in ("workflow", "patch"):
            await person.answers(kind, "y")
        card = await person.answers("agenda_patch", "y")
        await person.sees("is completed, 2 commits")
        return card

    card = talked(project, talk)

    assert "+- [x] Greet in hello.txt" in inside(card)
    assert "- [x] Greet in hello.txt" in run_git(project, "show", f"nexus/{card.run}:docs/phases/core.md")


def test_an_agent_hands_over_asks_and_has_tests_run(project: Path) -> None:
    (project / "test_one.py").write_text(FAILING)
    scripts(
        project,
        [HAND],
        [
            propose("ask", question="which \x1b[2Jcolour?", wait=30),
            propose("propose_command", argv=["python3", "-m", "unittest"], summary="prove it", wait=30),
            written("two"),
        ],
    )

    async def talk(person: Person) -> tuple[ChatCard, ...]:
        await person.asks("/run --agent scripted first.json")
        handoff = await person.answers("handoff", "y")
        question = await person.answers("question", "a", "green")
        command = await person.answers("command", "y", "approve")  # it is risky: a word besides the key
        await person.waits_until(lambda: any(card.kind == "tests" for card in person.stream.cards()), "tests")
        tests = next(card for card in person.stream.cards() if card.kind == "tests")
        await person.answers("patch", "y", unfold=True)
        await person.sees("is completed, 1 commit")
        return handoff, question, command, tests

    handoff, question, command, tests = talked(project, talk)

    assert "second.json and mind the gap" in inside(handoff)
    assert "\x1b" not in inside(question)
    assert {"network  none", "  0  python3", "  1  -m"} <= set(inside(command).split("\n"))
    assert (tests.title.endswith("failed"), tests.rows[0].text) == (True, "unittest: 0 passed, 1 failed, 0 skipped")
    assert done(project, handoff.run) == [("handoff", "executed"), ("command", "executed"), ("patch", "executed")]
    assert [one["text"] for one in events(project, handoff.run, "question.answered")] == ["green"]
    assert [one["node"] for one in events(project, handoff.run, "node.started")] == ["main", "handoff-a1"]


def test_a_handoff_and_a_change_of_the_plan_that_are_denied_do_not_happen(project: Path) -> None:
    listed(project, patched("Make all of it", *(f"Büro {at}/ä {at}.txt" for at in range(9))))

    async def talk(person: Person) -> tuple[ChatCard, list[ChatCard]]:
        await person.asks("/plan-exec the steps in zu tun.md")
        await person.answers("workflow", "y")
        await person.answers("handoff", "y")
        card = await person.answers("plan_patch", "d", "leave the plan alone")
        await person.sees("failed: exec: it could not be cleared")
        return card, person.stream.cards()

    card, shown = talked(project, talk)

    assert done(project, card.run) == [("handoff", "executed"), ("plan_patch", "denied")]
    assert "S1.1" not in run_git(project, "show", f"refs/nexus/state:plans/plan.{card.run}.plan.json")
    assert commits(project, card.run) == []
    assert [(one.kind, one.waits) for one in shown if one.kind == "error"] == [("error", False)] * 2


def test_an_error_of_the_set_up_is_tried_again_by_a_key(project: Path) -> None:
    once = "test -e made || { touch made; echo no disk >&2; exit 3; }"
    (project / ".nexus" / "settings.json").write_text(json.dumps({"runs": {"setup": [["sh", "-c", once]]}}))
    trust(project)

    async def talk(person: Person) -> tuple[ChatCard, str]:
        await person.asks("/run -- sh -c 'echo more >> readme.txt'")
        error = await person.answers("error", "g")
        await person.answers("patch", "y")
        return error, await person.sees("is completed, 1 commit")

    error, text = talked(project, talk)

    assert "set-up" in error.title
    assert "no disk" in inside(error)
    assert "the set-up went wrong: tried again" in text
