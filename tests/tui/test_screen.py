"""The real application, driven by keys: what a person asks, sees and decides."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from textual import events

from gitnexus.base.errors import NotFound
from gitnexus.tui.chat import Chat
from gitnexus.tui.guard import QUIET, SEEN
from gitnexus.tui.model import ChatCard, ChatEntry, Update
from gitnexus.tui.screen import ChatApp
from tests.conftest import Nexus, run_git
from tests.runs.live import listed
from tests.terminal import killed_at
from tests.tui import sample
from tests.tui.scene import Person, opened

T = TypeVar("T")
DIFF = """\
```diff
--- a/readme.txt
+++ b/readme.txt
@@ -1 +1,2 @@
 hello
+dear reader
```"""


def talked(place: Path, talk: Callable[[Person], Awaitable[T]], size: tuple[int, int] = (80, 24)) -> T:
    """Open the chat, let somebody talk, and return what they found."""

    async def whole() -> T:
        async with opened(place, size) as person:
            return await talk(person)

    return asyncio.run(whole())


def answers_of(person: Person) -> list[tuple[str, str, str]]:
    """Return a list that fills with what is answered, instead of carrying it out."""
    found: list[tuple[str, str, str]] = []

    def answered(card_id: str, letter: str, said: str = "", *, digest: str = "") -> list[Update]:
        found.append((card_id, letter, said))
        return []

    person.app.chat.answered = answered  # type: ignore[method-assign]
    return found


async def looks_at(person: Person, card: ChatCard) -> None:
    person.stream.add([card])
    await person.pilot.press("tab")
    await person.pilot.pause()
    await asyncio.sleep(SEEN + 0.05)


def test_enter_a_paste_and_quick_keys_answer_nothing_and_one_key_does(project: Path) -> None:
    async def talk(person: Person) -> list[list[tuple[str, str, str]]]:
        found, stages = answers_of(person), []
        await looks_at(person, sample.command())
        await person.pilot.press("enter")
        await asyncio.sleep(QUIET * 1.5)
        stages.append(list(found))
        person.app.post_message(events.Paste("y"))
        await asyncio.sleep(QUIET * 1.5)
        stages.append(list(found))
        with person.quick_typing():
            await person.pilot.press("y", "y")
        await asyncio.sleep(QUIET * 2)
        stages.append(list(found))
        await person.pilot.press("a")
        await person.waits_until(lambda: bool(found), "an answer")
        return [*stages, found]

    assert talked(project, talk) == [[], [], [], [(f"{sample.RUN} a2", "a", "")]]


def test_a_risky_yes_needs_a_typed_word_which_cannot_be_pasted(project: Path) -> None:
    async def talk(person: Person) -> tuple[list[tuple[str, str, str]], str]:
        found = answers_of(person)
        await looks_at(person, sample.risky())
        for typed in (False, True):
            await person.pilot.press("y")
            await asyncio.sleep(QUIET * 2)
            if typed:
                person.app.box.fill_input("approve")
            else:
                person.app.box.post_message(events.Paste("approve"))
                await person.pilot.pause()
            await person.pilot.press("enter")
            await person.pilot.pause()
            await person.pilot.press("tab")
            await asyncio.sleep(SEEN + 0.05)
        return found, person.stream.text()

    found, text = talked(project, talk)

    assert found == [(f"{sample.RUN} a3", "y", "approve")]
    assert "a paste cannot approve" in text


@pytest.mark.slow
def test_the_input_completes_walks_back_and_takes_several_lines(project: Path) -> None:
    async def talk(person: Person) -> list[str]:
        box, seen = person.app.box, []
        await person.pilot.press(*"/trac")
        await person.waits_until(lambda: bool(box.offers), "offers")
        await person.pilot.press("tab", *"on", "enter")
        await person.sees("the trace is on")
        await person.pilot.press("up")
        seen.append(box.text)
        box.fill_input("see @read")
        await person.waits_until(lambda: bool(box.offers), "files")
        await person.pilot.press("tab", "ctrl+j", "x")
        return [*seen, box.text]

    assert talked(project, talk) == ["/trace on", "see @readme.txt \nx"]


def test_many_lines_resize_and_fold_without_losing_their_place(project: Path) -> None:
    async def talk(person: Person) -> list[object]:
        stream = person.stream
        stream.add([ChatEntry("agent", f"line {n} " + "x" * 60, "r") for n in range(300)])
        await person.waits_until(lambda: stream.scroll_offset.y == stream.max_scroll_y > 280, "the end")
        await person.pilot.resize_terminal(40, 12)
        await person.waits_until(
            lambda: stream.scroll_offset.y == stream.max_scroll_y > 580, "the end on a narrow screen"
        )
        stream.scroll_to(y=10, animate=False)
        await person.waits_until(lambda: stream.scroll_offset.y == 10, "the beginning")
        stream.add([ChatEntry("agent", "more", "r")])
        await person.pilot.pause()
        return [stream.scroll_offset.y]

    assert talked(project, talk) == [10]


def test_what_an_agent_says_reaches_the_terminal_without_escapes(project: Path) -> None:
    async def talk(person: Person) -> str:
        person.stream.add([ChatEntry("agent", "\x1b[2J\x1b]0;owned\x07[bold]no markup[/bold]", "r")])
        await person.pilot.pause()
        strips = [person.stream.render_line(y) for y in range(person.stream.size.height)]
        return "".join(segment.text for strip in strips for segment in strip)

    drawn = talked(project, talk)

    assert "\\x1b[2J\\x1b]0;owned\\x07[bold]no markup[/bold]" in drawn
    assert "\x1b" not in drawn and "\x07" not in drawn


def test_where_no_project_can_be_opened_the_screen_goes_and_the_reason_stays() -> None:
    def opens() -> Chat:
        raise NotFound("no git nexus project here")

    async def talk() -> ChatApp:
        app = ChatApp(opens)
        async with app.run_test() as pilot:
            while app.failure is None:
                await pilot.pause(0.01)
        return app

    assert str(asyncio.run(talk()).failure) == "no git nexus project here"


def test_a_run_is_asked_for_its_card_approved_by_a_key_and_the_commit_is_there(project: Path) -> None:
    async def talk(person: Person) -> str:
        await person.asks("/run -- sh -c 'echo more >> readme.txt'")
        card = await person.answers("patch", "y")
        await person.sees("is completed, 1 commit")
        return card.run

    run = talked(project, talk)

    assert run_git(project, "show", f"nexus/{run}:readme.txt") == "hello\nmore\n"
    assert f"Nexus-Run: {run}" in run_git(project, "log", "-1", "--format=%B", f"nexus/{run}")


@pytest.mark.slow
def test_a_denial_takes_its_reason_along(nexus: Nexus, project: Path) -> None:
    async def talk(person: Person) -> str:
        await person.asks("/run -- sh -c 'echo more >> readme.txt'")
        card = await person.answers("patch", "d", "not today")
        await person.sees("denied by Test Person: not today")
        return card.run

    run = talked(project, talk)

    assert "not today" in nexus.ok("replay", run)
    assert run_git(project, "rev-list", f"HEAD..nexus/{run}") == ""


@pytest.mark.slow
def test_a_scope_that_is_widened_lets_the_like_through_without_a_card(project: Path) -> None:
    async def talk(person: Person) -> str:
        await person.asks("/run -- sh -c 'echo one >> readme.txt'")
        await person.answers("patch", "p")
        await person.sees("is completed, 1 commit")
        await person.asks("/run -- sh -c 'echo two >> readme.txt'")
        await person.waits_until(lambda: person.stream.text().count("is completed, 1 commit") == 2, "both")
        return person.stream.text()

    assert "the policy says allow to a1" in talked(project, talk)


@pytest.mark.slow
def test_a_workflow_is_changed_on_its_card_blocked_answered_and_resumed_with_a_trace(project: Path) -> None:
    async def talk(person: Person) -> tuple[list[str], str]:
        await person.asks("/trace on")
        await person.asks("@codex Make the readme friendlier")
        card = await person.answers("workflow", "b", "embedded")
        await person.answers("workflow", "y")
        await person.answers("question", "a", DIFF)
        await person.answers("patch", "y")
        await person.sees("is completed, 1 commit")
        return [line.text for line in card.sections[0].lines], await person.sees("attempt 2")

    nodes, text = talked(project, talk)

    assert nodes == ["▸ 1  exec  exec  codex"]
    assert "is blocked until you answer: answered" in text
    assert "nexus: begins exec" in text, "the trace tells every event"
    assert "exec [executor] completed, attempt 2" in text, "and who did what, in which time"


@pytest.mark.slow
def test_escape_stops_the_node_and_the_run_can_be_resumed(nexus: Nexus, project: Path) -> None:
    async def talk(person: Person) -> str:
        await person.asks("/run -- sh -c 'echo at $((6 * 7)); sleep 60; echo more >> readme.txt'")
        await person.sees("at 42")
        await person.pilot.press("escape")
        await person.sees("stopped; /resume")
        return person.app.chat.active

    run = talked(project, talk)

    assert listed(nexus)[run]["status"] == "stopped"
    assert person_resumes(project, run) == "running"


def person_resumes(project: Path, run: str) -> str:
    async def talk(person: Person) -> str:
        await person.sees(f"{run} is stopped")
        await person.asks(f"/resume {run}")
        await person.sees("attempt 2")
        status = person.app.chat.status().status
        await person.pilot.press("ctrl+c")
        await person.sees("is stopping")
        return status

    return talked(project, talk)


@pytest.mark.slow
def test_a_run_of_elsewhere_shows_up_and_nothing_is_lost_by_a_closed_or_killed_terminal(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def first(person: Person) -> str:
        nexus("run", "--", "sh", "-c", "echo more >> readme.txt")
        card = await person.card("patch")
        await person.asks("/run -- sh -c 'sleep 2; echo late > late.txt'")
        await person.waits_until(lambda: len(person.app.chat.watch.views) == 2, "the second run")
        person.app.box.fill_input("half a thought")
        await asyncio.sleep(1.2)
        person.app.exit()  # as a terminal that closes: nothing is answered, and one run is at work
        return card.run

    run = talked(project, first)
    monkeypatch.setenv("TERM", "xterm-256color")
    killed_at(project, "git-nexus", "chat", seen="yes, this once")

    async def again(person: Person) -> tuple[str, set[str]]:
        await person.waits_until(lambda: len([card for card in person.stream.cards() if card.waits]) == 2, "both cards")
        draft = person.app.box.text
        person.app.box.fill_input("")
        for _ in range(2):
            await person.answers("patch", "y")
        await person.waits_until(lambda: person.stream.text().count("is completed, 1 commit") == 2, "both commits")
        return draft, {card.run for card in person.stream.cards()}

    draft, runs = talked(project, again)

    (other,) = runs - {run}
    assert draft == "half a thought"
    assert run_git(project, "show", f"nexus/{run}:readme.txt") == "hello\nmore\n"
    assert run_git(project, "show", f"nexus/{other}:late.txt") == "late\n"


def test_a_bracketed_paste_arrives_once(project: Path) -> None:
    async def talk(person: Person) -> tuple[str, bool]:
        person.app.box.focus()
        person.app.post_message(events.Paste("two\nlines"))
        await person.pilot.pause()
        return person.app.box.text, person.app.box.pasted

    assert talked(project, talk) == ("two\nlines", True)
