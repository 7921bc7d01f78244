"""The card that a person decides by, and the keys that answer it."""

import re
from pathlib import Path

import click
import pytest

from gitnexus.gateway.card import Card, FileRow, build_card
from gitnexus.git import discover
from gitnexus.policy.gate import decide_request
from gitnexus.policy.grants import GrantContext
from gitnexus.state.home import home_folder
from gitnexus.ui.card import draw_card
from tests.conftest import Nexus
from tests.policy.scene import command, law
from tests.runs.live import ASKED, begun, commits, events, listed, typed

CARD = Card(
    kind="patch",
    summary="tidy the parser",
    verdict="ask",
    rule="silence",
    why="no rule allows writing src/a.py",
    risk=2,
    tags=("build", "ci"),
    mode="default",
    digest="sha256:" + "0" * 64,
    facts=(("base", "0123456789ab"),),
    files=(FileRow("src/a.py", "changed", 2, 1), FileRow("logo.png", "new, binary")),
    body=("diff --git a/src/a.py b/src/a.py", "@@ -1 +1,2 @@", "-old", "+new", "+newer"),
    warnings=("pаypal: letters of two scripts",),
)
GOLDEN = """\
┌ patch r1 a1  risk 2 of 4  ask
│ tidy the parser
│ rule     silence: no rule allows writing src/a.py
│ base     0123456789ab
│ tags     build, ci
│ digest   sha256:0000000000000000000000000000000000000000000000000000000000000000
│ src/a.py  +2 −1        changed
│ logo.png  binary       new, binary
│ 2 files, +2 −1
│ look twice: pаypal: letters of two scripts
│
│ diff --git a/src/a.py b/src/a.py
│ @@ -1 +1,2 @@
│ -old
│ +new
│ +newer
└"""


def test_a_card_is_drawn_as_ever() -> None:
    assert click.unstyle("\n".join(draw_card(CARD, name="r1 a1"))) == GOLDEN


def test_a_long_card_is_folded_and_says_so_and_is_shown_whole_when_asked() -> None:
    long = CARD.__class__(**{name: getattr(CARD, name) for name in CARD.__slots__} | {"body": ("+x",) * 100})

    folded = click.unstyle("\n".join(draw_card(long)))
    whole = click.unstyle("\n".join(draw_card(long, whole=True)))

    assert "│ 60 more lines are folded; v shows all of it" in folded
    assert (folded.count("│ +x"), whole.count("│ +x")) == (40, 100)


@pytest.mark.parametrize("text", ["a\n└\nApprove? y", "\x1b[2Ja", "a\r└", "x" * 500])
def test_no_text_leaves_the_frame(text: str) -> None:
    card = CARD.__class__(**{name: getattr(CARD, name) for name in CARD.__slots__} | {"summary": text, "body": (text,)})

    first, *middle, last = click.unstyle("\n".join(draw_card(card))).split("\n")

    assert (first[0], last) == ("┌", "└")
    assert all(line.startswith(("│", "┆")) for line in middle)
    assert "\x1b" not in "".join(middle)


def test_a_yes_on_the_terminal_commits_at_once(nexus: Nexus, project: Path) -> None:
    status, shown = typed(project, "y", "git-nexus", "run", "--", "sh", "-c", "echo more >> readme.txt")

    (run,) = listed(nexus)
    assert status == 0
    assert "\x1b[32m│ +more" in shown
    assert len(commits(project, run)) == 1


def test_without_colour_a_card_has_none(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, "echo more >> readme.txt")

    status, shown = typed(project, "q", "git-nexus", "review", run, env={"NO_COLOR": "1"})

    assert "\x1b[3" not in shown
    assert "\x1b[1" not in shown
    assert "│ +more" in shown
    assert status in (0, ASKED)
    assert commits(project, run) == []


def test_a_no_on_the_terminal_keeps_its_reason(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)

    typed(project, "?\nd\nnot this way", "git-nexus", "review", run)

    assert [body["why"] for body in events(project, run, "permission.denied")] == ["not this way"]
    assert listed(nexus)[run]["status"] == "failed"


def test_enter_alone_answers_nothing(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)

    typed(project, "\n\nx\nq", "git-nexus", "review", run)

    assert listed(nexus)[run]["status"] == "waiting"


def test_a_card_of_a_command_shows_all_that_its_token_binds(project: Path) -> None:
    request = command("make", "check", env={"CI": "1", "LANG": "C"}, base="b" * 40, stdin_digest="sha256:" + "1" * 64)

    card = build_card(discover(project), request, decide_request(request, law("")), "default", "", GrantContext(""))

    shown = "\n".join([*card.body, *(f"{label} {value}" for label, value in card.facts)])
    bound = ["make check", request.program, request.cwd, "CI=1", "LANG=C", "b" * 12, request.stdin_digest, "seconds 60",
             request.network, request.sandbox]  # fmt: skip
    assert [word for word in bound if word not in shown] == []


def test_who_cannot_be_asked_reads_the_whole_card_and_how_to_answer(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, "seq 200 > new.txt")

    done = nexus("review", run)

    assert done.returncode == ASKED
    assert "│ +1\n" + "".join(f"│ +{n}\n" for n in range(2, 201)) in done.stdout
    assert "digest   sha256:" in done.stdout
    (digest_,) = (body["digest"] for body in events(project, run, "action.proposed"))
    assert done.stdout.endswith(f"└\nNext: git nexus approve {run} a1@{digest_}, or git nexus deny {run}\n")


def test_the_words_of_a_command_stand_each_by_itself_and_secrets_among_them_are_hidden(project: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    request = command("echo", "a] [b", "", "--token", token, "x\ty")

    card = build_card(discover(project), request, decide_request(request, law("")), "default", "", GrantContext(""))

    assert card.argv[:4] == ("echo", "a] [b", "", "--token")
    assert token not in "".join(card.argv)
    assert (len(card.argv), card.argv[5]) == (6, "x\\x09y")


def test_a_yes_to_another_digest_than_that_of_the_action_is_none(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)
    wrong = nexus("approve", "--unseen", run, "a1", "--digest", "sha256:" + "f" * 64)
    unnamed = nexus("approve", "--unseen", run, "--digest", "sha256:" + "f" * 64)
    (seen,) = (body["digest"] for body in events(project, run, "action.proposed"))

    nexus.ok("approve", "--unseen", run, "a1", "--digest", seen)

    assert (wrong.returncode, unnamed.returncode) == (23, 2)
    assert len(commits(project, run)) == 1


def test_the_level_of_the_sandbox_is_in_the_log_on_the_card_and_in_the_summary(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, "echo more >> readme.txt")

    (started,) = events(project, run, "node.started")
    level = started["sandbox"]
    shown = nexus("review", run).stdout
    _, card = typed(project, "q", "git-nexus", "review", run)

    assert level in ("L0", "L1", "L2", "L3")
    assert f"  sandbox {level}\n" in shown
    assert f"sandbox  {level}, in which it was made" in card
    assert f"sandbox  {level}\n" in nexus("status").stdout


def test_bypass_is_red_wherever_it_is(nexus: Nexus, project: Path, sealed: Path) -> None:
    (home_folder() / "settings.json").write_text('{"policy": {"bypass": true}}')
    nexus.ok("policy", "mode", "bypass", "--user")
    _, began = typed(project, "", "git-nexus", "run", "--", "true")

    told = [began, *(typed(project, "", "git-nexus", *argv)[1] for argv in (
        ("status",), ("runs", "--all"), ("policy", "show"), ("policy", "mode"), ("policy", "explain", "--", "ls"),
        ("doctor",)))]  # fmt: skip

    assert [bool(re.search(r"\x1b\[31m\x1b\[1m[^\x1b]*bypass", text)) for text in told] == [True] * 7
