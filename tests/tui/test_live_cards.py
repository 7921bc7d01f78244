"""Live approvals in the chat: a program waits for the person, and the card in the chat is its answer."""

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.runs.agent.test_agent_at_work import GREET, propose, view_of
from tests.runs.agent.test_agent_at_work import written as steps
from tests.runs.agent.test_live import agent, heard, home  # noqa: F401 - a fixture
from tests.runs.live import events
from tests.tui.scene import Person
from tests.tui.test_screen import talked

pytestmark = pytest.mark.slow


def test_a_program_that_asks_before_each_action_is_answered_by_the_cards(
    nexus: Nexus,
    project: Path,
    home: Path,  # noqa: F811 - the fixture
) -> None:
    agent(home, ("Write", {"file_path": "new.txt", "content": "new\n"}), ("Bash", {"command": "echo ran > ran.txt"}),
          ("Bash", {"command": "echo more > more.txt"}), wait=60)  # fmt: skip

    async def talk(person: Person) -> str:
        await person.asks("/run --agent claude --live Do it")
        run = (await person.answers("patch", "y")).run
        await person.answers("command", "d", "not this way")
        await person.answers("command", "y", "approve")
        await person.answers("patch", "y")  # what the command that was allowed had left
        await person.sees("is completed, 2 commits")
        return run

    run = talked(project, talk)

    assert [one["behavior"] for one in heard(nexus, run)] == ["allow", "deny", "allow"]
    assert "not this way" in heard(nexus, run)[1]["message"]
    assert run_git(project, "ls-tree", "--name-only", f"nexus/{run}").split() == ["more.txt", "new.txt", "readme.txt"]
    nexus.ok("verify", f"main..nexus/{run}", "--require-approval")


def test_an_agent_that_waits_at_its_tool_goes_on_with_what_the_card_was_answered(project: Path) -> None:
    steps(
        project,
        propose("propose_patch", patch=GREET, summary="greet", wait=30),
        propose("ask", question="which colour?", wait=30),
        propose("propose_command", argv=["date"], wait=30, refused=True),
        {"do": "say", "text": "Done."},
    )

    async def talk(person: Person) -> str:
        await person.asks("/run --agent scripted --way proposer steps.json")
        run = (await person.answers("patch", "y")).run
        await person.answers("question", "a", "green")
        await person.answers("command", "d", "no clocks")
        await person.sees("is completed, 1 commit")
        return run

    run = talked(project, talk)

    assert view_of(project, run).nodes["main"].attempts == 1, "it was waiting all the while"
    assert [one["text"] for one in events(project, run, "question.answered")] == ["green"]
    assert [one["text"] for one in events(project, run, "agent.progress")][-2:-1] == ["Done."]


# Stands in for Claude Code: asks whether what it was told holds the skill.
PLANNER = """\
#!{python}
import json, sys
if "--version" in sys.argv:
    print("2.1.0")
    sys.exit()
told = sys.stdin.read()
seen = "the skill" if "by this skill" in told and "You are Lead. Plan the matter" in told else "nothing"
blocked = {{"kind": "needs_user_input", "question": "I was given " + seen}}
said = json.dumps({{"blocked": blocked}})
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": said, "num_turns": 1}}))
"""


def test_a_tag_in_brackets_gives_its_skill_to_who_works(
    nexus: Nexus,
    project: Path,
    home: Path,  # noqa: F811 - the fixture
) -> None:
    agent(home)
    (home / ".local" / "bin" / "claude").write_text(PLANNER.format(python=os.path.realpath(sys.executable)))

    async def talk(person: Person) -> tuple[str, str]:
        await person.asks("[plan] the release @claude")
        card = await person.answers("workflow", "y")
        question = await person.card("question")
        return "\n".join(line.text for line in card.rows), "\n".join(line.text for line in question.rows)

    shown, asked = talked(project, talk)

    assert "given    skill:nx-plan" in shown
    assert asked == "I was given the skill"
