"""The plain face for eyes and for ears: linear, in words, and no agent speaks as us; and the screen without colours."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gitnexus.tui.model import CardLine, CardSection, ChatEntry, ChatStatus
from gitnexus.tui.plain import describe_chat_status, format_plain_card, format_plain_entry
from tests.terminal import killed_at
from tests.tui import sample
from tests.tui.test_cards import HOSTILE

# What draws frames and arrows: eyes pass over it, a screen reader names each.
NOISE = re.compile("[\u2190-\u21ff\u2500-\u25ff\u203a]")


@pytest.mark.parametrize("spoken", [False, True])
@pytest.mark.parametrize("name", list(sample.ALL))
def test_no_line_of_a_card_draws(name: str, spoken: bool) -> None:
    lines = format_plain_card(sample.ALL[name](), whole=True, spoken=spoken)

    assert [line for line in lines if NOISE.search(line)] == []


def test_a_patch_is_read_out_line_by_line() -> None:
    lines = format_plain_card(sample.patch(), spoken=True)

    assert lines[lines.index("part: src/greet.py  +2 -1  changed") :] == [
        "part: src/greet.py  +2 -1  changed",
        "from line 1",
        "unchanged:  def greet(name: str) -> str:",
        'removed:     return "helo " + name',
        "added:     # The guest's name comes last.",
        'added:     return f"hello {name}"',
        'unchanged:  print(greet("Ada"))',
        "part: readme.md  +2 -0  new",
        "about the file: new file mode 100644",
        "from line 1",
        "added: # Greetings",
        'added: Try `greet("Ada")`.',
        "part: 2 files, +4 -1",
        "answer: y for yes, this once; s for yes, in this run; p for yes, for these files; "
        "r for yes, in this repository; d for no, with a reason; e for edit it",
    ]


def test_words_of_a_command_and_nodes_of_a_workflow_are_told_with_their_place() -> None:
    command, workflow = (
        format_plain_card(sample.command(), spoken=True),
        format_plain_card(sample.workflow(), spoken=True),
    )

    assert [line for line in command if line.startswith("word ")][-1] == "word 4 greet and not slow"
    assert [line[:12] for line in workflow if "node " in line and "part" not in line][:3] == [
        "node 1 resea", "chosen node ", "node 3 exec ",
    ]  # fmt: skip


def test_blanks_within_a_value_are_read_out_as_they_are() -> None:
    rows = ("env      LANG=[a   b]", "cwd      /a  b/c", "look twice: x  y")
    card = replace(sample.command(), rows=tuple(map(CardLine, rows)))
    question = replace(sample.question(), rows=(CardLine("use  a   b?"), CardLine("    y()")))

    assert format_plain_card(card, spoken=True)[1:4] == ["env LANG=[a   b]", "cwd /a  b/c", "look twice: x  y"]
    assert format_plain_card(question, spoken=True)[1:3] == ["asks: use  a   b?", "asks:     y()"]


def test_no_agent_can_speak_as_us() -> None:
    said = "card: patch a9 of you\nanswer: y for yes"
    hostile = replace(
        sample.question(),
        rows=(CardLine(said), CardLine(HOSTILE)),
        sections=(CardSection("x", (CardLine(said), CardLine(HOSTILE))),),
    )
    lines = format_plain_card(hostile, spoken=True) + format_plain_entry(
        ChatEntry("agent", f"{said}\n{HOSTILE}", "r"), spoken=True
    )

    assert [line for line in lines if line.startswith("card: ")] == lines[:1]
    assert [line for line in lines if line.startswith("answer: ")] == ["answer: a for answer"]
    assert [ch for line in lines for ch in line if not ch.isprintable()] == []


def test_where_things_stand_is_told_in_words() -> None:
    now = ChatStatus("shop", "main", "autopilot", "r1", "exec", "running", "plan 1/2", "3 open tasks", 2, "$0.10", True)

    assert describe_chat_status(now) == (
        "project shop, branch main, mode autopilot, active run r1 exec running, plan 1/2, 3 open tasks, "
        "2 waiting for your answer, cost $0.10, trace on"
    )
    assert (
        describe_chat_status(ChatStatus("shop", "main"))
        == "project shop, branch main, mode default, no active run, nothing waiting"
    )


@pytest.mark.parametrize(
    ("setting", "environment"), [("true", {}), ("", {"NEXUS_SCREEN_READER": "1"}), ("", {"TERM": "dumb"})]
)
def test_who_has_a_screen_reader_gets_lines_at_a_terminal(
    project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch, setting: str, environment: dict[str, str]
) -> None:
    config = sealed / ".gitconfig"
    config.write_text(f"{config.read_text()}[nexus]\n\tscreenReader = {setting}\n")
    for name, value in {"TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)

    drawn = killed_at(project, "git-nexus", "chat", seen="nothing waiting")

    assert "mode default, no active run, nothing waiting" in drawn
    assert "\x1b" not in drawn


def test_a_repository_cannot_say_that_somebody_has_a_screen_reader(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.conftest import run_git

    run_git(project, "config", "nexus.screenReader", "true")
    monkeypatch.setenv("TERM", "xterm-256color")

    assert "\x1b[?1049h" in killed_at(project, "git-nexus", "chat", seen="╭")


def test_without_colours_the_screen_sends_none(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")

    drawn = killed_at(project, "git-nexus", "chat", seen="ask for something")

    codes = {int(code) for found in re.findall(r"\x1b\[([\d;]*)m", drawn) for code in found.split(";") if code}
    assert codes <= {0, 1, 2, 3, 4, 7, 22, 24, 27, 39, 49}, "bold, dim and reverse, and the terminal's own colours"
    assert 7 in codes, "the cursor is seen all the same"
