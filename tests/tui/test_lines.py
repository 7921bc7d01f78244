"""The plain face: the same commands, for pipes, scripts and screen readers."""

import contextlib
import io
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitnexus.app import open_nexus
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.tui.chat import Chat
from gitnexus.tui.lines import PlainChat
from gitnexus.tui.model import ChatEntry, Update
from tests.conftest import Nexus, run_git
from tests.runs.begun import begun as begun_run
from tests.runs.live import ASKED, events, listed
from tests.tui import sample
from tests.tui.test_runs_seen import begun


def told(place: Path, *lines: str, chat: Chat | None = None) -> str:
    """Return what the plain face prints for some lines."""
    talk, out = chat or Chat(open_nexus(place), place), io.StringIO()
    try:
        PlainChat(talk, out, live=False).talk_until_end(iter(lines))
    finally:
        talk.close()
    return out.getvalue()


def test_commands_are_answered_in_the_order_they_were_typed(project: Path) -> None:
    text = told(project, "# a comment", "/mode autopilot", "/mode bypass", "/nonsense", "/trace on", "/quit", "/help")

    assert text.split("\n") == [
        "mein-B-ro: ask for something, or /help",
        "> # a comment",
        "> /mode autopilot",
        "the mode of runs that are started here is autopilot",
        "> /mode bypass",
        "error: the mode bypass is not enabled (git nexus policy mode bypass --user tells how)",
        "> /nonsense",
        "error: there is no /nonsense (/help lists them; // begins a text that begins with a slash)",
        "> /trace on",
        "the trace is on: every event, raw messages and times are shown",
        "> /quit",
        "",
    ]


def test_tags_and_their_slash_commands_write_down_what_they_say(nexus: Nexus, project: Path) -> None:
    text = told(project, "[m] the sky is blue", "/rule never push on a Friday")

    assert "git nexus: [m] done" in text
    assert "blue" in nexus.ok("memory", "search", "sky")
    assert "Friday" in "".join(path.read_text() for path in (project / ".nexus" / "rules").glob("*.md"))


def test_a_workflow_of_the_projects_own_is_proposed_and_completed_by_its_name(nexus: Nexus, project: Path) -> None:
    folder = project / ".nexus" / "commands"
    chat = Chat(open_nexus(project), project)
    ours = (folder / "builtins" / "exec-review.md").read_text()
    (folder / "custom" / "careful.md").write_text(ours.replace("make the change, then", "change it with care, and"))
    nexus.ok("status")  # takes it in, while the chat is open
    offered = dict(chat.sources().macros())

    text = told(project, "/careful greet the guests", "n", "", chat=chat)

    assert offered["careful"] == "change it with care, and review it"
    nodes = [line.strip() for line in text.split("\n") if line.startswith("    ")]
    assert nodes == ["> 1  exec  exec  executor, as the project says",
                     "2  review  review  researcher, as the project says  after exec"]  # fmt: skip


def test_a_workflow_is_changed_by_its_keys_and_dropped(project: Path) -> None:
    lines = told(project, "/research-plan-exec greet @readme.txt", "j", "x", ">", "b codex", "n", "y").split("\n")

    nodes = [line.strip() for line in lines if line.startswith("    ")]
    assert nodes[:3] == [
        "> 1  research  research  researcher, as the project says",
        "2  plan  plan  planner, as the project says  after research",
        "3  exec  exec  executor, as the project says  after plan",
    ]
    assert nodes[-2:] == ["1  research  research  researcher, as the project says",
                          "> 2  exec  exec  codex  after research"]  # fmt: skip
    assert "  given    file:readme.txt" in lines
    assert lines[-4:-1] == ["workflow w1: start it?: dropped", "> y",
                            "error: y answers nothing: no card waits for it (/help)"]  # fmt: skip


def test_a_proposal_is_there_again_after_the_terminal_was_closed(project: Path) -> None:
    first = told(project, "have claude plan the release")

    again = told(project)

    card = first[first.index("card: workflow w1") :]
    assert card in again


def test_enter_alone_answers_nothing_and_a_reason_is_asked_for(project: Path) -> None:
    chat = Chat(open_nexus(project), project)
    answers: list[tuple[str, str]] = []

    def note(card_id: str, letter: str, said: str = "", *, digest: str = "") -> list[Update]:
        answers.append((letter, said))
        return [ChatEntry("nexus", "noted")]

    chat.answered = note  # type: ignore[method-assign]
    chat.put(sample.patch())
    text = told(project, "", "   ", "?", "d", "not today", "s", chat=chat)

    assert answers == [("d", "not today"), ("s", "")]
    assert "Why not?:" in text
    assert "s  yes, in this run (also: the like again)" in text


def test_what_was_pasted_approves_nothing_also_as_a_command(project: Path) -> None:
    chat = Chat(open_nexus(project), project)
    chat.put(sample.patch())

    updates = chat.typed("/approve y", pasted=True)

    chat.close()
    assert [one.text for one in updates if isinstance(one, ChatEntry) and one.speaker == "error"] == [
        "a paste cannot approve (type it, or go to the card with Tab and press its key)"
    ]
    assert chat.cards[sample.patch().id].waits


def test_a_card_that_changed_since_it_was_seen_is_not_answered(project: Path) -> None:
    chat = Chat(open_nexus(project), project)
    chat.put(sample.patch())

    updates = chat.answered(sample.patch().id, "y", digest="sha256:" + "f" * 64)

    chat.close()
    assert "has changed since" in "".join(one.text for one in updates if isinstance(one, ChatEntry))
    assert chat.commands.jobs == []


def test_the_conversation_is_exported_to_a_new_file_only(project: Path) -> None:
    text = told(project, "/mode default", "/export talk.md", "/export talk.md")

    assert "**You:** /mode default" in (project / "talk.md").read_text()
    assert "talk.md cannot be written: File exists" in text


@pytest.mark.slow
def test_only_the_screen_needs_textual() -> None:
    code = "import sys, gitnexus.tui.chat, gitnexus.tui.lines, gitnexus.tui.command; print('textual' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_a_script_in_a_pipe_asks_approves_and_leaves_with_a_status(nexus: Nexus, project: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("/run -- sh -c 'echo more >> readme.txt'\ny\n")

    done = nexus("chat", "--script", str(script))
    missing = nexus("chat", "--script", "no such file")

    (branch,) = run_git(project, "for-each-ref", "--format=%(refname:short)", "refs/heads/nexus").split()
    assert (done.returncode, missing.returncode) == (0, 4), done.stdout
    assert "\x1b" not in done.stdout
    assert run_git(project, "show", f"{branch}:readme.txt") == "hello\nmore\n"


@pytest.mark.slow
def test_what_is_left_waiting_is_told_by_the_status(nexus: Nexus, project: Path) -> None:
    done = nexus("chat", stdin="/run -- sh -c 'echo more >> readme.txt'\n")

    assert done.returncode == ASKED
    assert done.stdout.rstrip().endswith("[e] edit it")


@pytest.mark.slow
def test_on_a_terminal_a_yes_in_a_paste_answers_nothing(nexus: Nexus, project: Path) -> None:
    nexus("run", "--", "sh", "-c", "echo x > new")

    drawn = pasted(project, "what is this\ny\n", "as fast as a paste")

    assert "card: patch a1" in drawn
    waits = [row["waits"] for row in listed(nexus).values()]
    assert [one for one in waits if one] == ["1 waiting"], "the question was answered, the card was not"


def pasted(place: Path, text: str, until: str) -> str:
    """Open the plain chat on a terminal, paste a text when a card is there, and leave once something is told."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.execvp("git-nexus", ["git-nexus", "chat", "--plain"])
    drawn, left, deadline = "", [text, "/quit\n"], time.monotonic() + 40
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if select.select([fd], [], [], 0.2)[0]:
                drawn += os.read(fd, 65536).decode("utf-8", "replace")
        if (len(left) == 2 and "answer:" in drawn) or (len(left) == 1 and until in drawn):
            os.write(fd, left.pop(0).encode())
        if os.waitpid(pid, os.WNOHANG)[0]:
            return drawn
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"never saw {until!r} in:\n{drawn}")


@pytest.mark.slow
def test_every_command_about_a_run_says_what_it_does(nexus: Nexus, project: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    lines = ["/trace on", "/run -- sh -c 'echo more >> readme.txt'", "/review", "y", "/diff", "/replay", "/runs",
             "/resume", "/land", "/status", "/agents engineer", "/policy explain -- git status", "/export talk.md",
             "/quit"]  # fmt: skip
    script.write_text("\n".join(lines))

    done = nexus("chat", "--script", str(script))

    said = done.stdout
    assert "+more" in said[said.index("> /diff") : said.index("> /replay")]
    assert "begins main" in said[said.index("> /replay") : said.index("> /runs")]
    assert "is completed" in said[said.index("> /resume") : said.index("> /land")]
    assert "landed on main" in said[said.index("> /land") :]
    assert "main [command] completed, attempt 1" in said, "the trace tells who worked how long"
    assert (project / "readme.txt").read_text() == "hello\nmore\n"
    assert (project / "talk.md").exists()


def test_what_a_run_cost_stands_in_the_status(project: Path) -> None:
    chat = Chat(open_nexus(project), project)
    chat.opened()
    log = begun(project / ".git", "261117-0001-cost")
    log.append("agent.spent", "codex", {"input": 10, "output": 5, "cost": 120_000, "node": "main"})
    chat.look()
    chat.close()

    assert (chat.status().cost, chat.status().run) == ("$0.12", "261117-0001-cost")


def test_an_answer_is_kept_as_it_was_typed(project: Path, nexus: Nexus) -> None:
    with begun_run(project) as desk:
        call_run_tool(desk, "ask", {"question": "which?"})
    script = project.parent / "script"
    script.write_text("/answer q1 if  x:   y\n")

    nexus.ok("chat", "--script", str(script))

    assert [one["text"] for one in events(project, desk.record.id, "question.answered")] == ["if  x:   y"]
