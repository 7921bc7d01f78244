"""Tools of the gateway by hand: judged by the policy, shown on a card, confined, masked and written down."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.sandbox.levels import try_level
from tests.conftest import Nexus, run_git, trust
from tests.terminal import answered

PATCH = "--- a/readme.txt\n+++ b/readme.txt\n@@ -1 +1 @@\n-hello\n+hello there\n"


def events(place: Path) -> list[tuple[str, dict[str, Any]]]:
    raw = (place / ".git" / "nexus" / "runs" / "terminal" / "events.jsonl").read_text()
    return [(event["kind"], event["body"]) for event in map(json.loads, raw.splitlines())]


@pytest.fixture
def nexus(project: Path) -> Nexus:
    return Nexus(project)


def test_a_file_is_read_and_a_denied_one_is_not(nexus: Nexus) -> None:
    (nexus.place / ".env").write_text("TOKEN=abc\n")

    assert json.loads(nexus.ok("tool", "repo.read_file", '{"path": "readme.txt"}'))["text"] == "hello"
    done = nexus("tool", "repo.read_file", '{"path": ".env"}')

    assert (done.returncode, "abc" in done.stdout) == (20, False)
    assert "repo.read_file" in nexus.ok("tool")


def test_where_nobody_can_be_asked_a_command_is_not_run(nexus: Nexus) -> None:
    done = nexus("tool", "cmd.run", '{"argv": ["touch", "made"]}')

    assert done.returncode == 21
    assert json.loads(done.stdout)["error"] == "a person has to approve this first: no rule allows running touch"
    assert not (nexus.place / "made").exists()
    assert [kind for kind, _ in events(nexus.place)] == ["workflow.started", "action.proposed", "action.judged"]


def test_what_the_policy_allows_is_run_once_it_is_signed(nexus: Nexus) -> None:
    nexus.ok("policy", "add", "allow", "--", "ls", "{path}")
    assert nexus("tool", "cmd.run", '{"argv": ["ls", "readme.txt"]}').returncode == 21

    trust(nexus.place)
    done = json.loads(nexus.ok("tool", "cmd.run", '{"argv": ["ls", "readme.txt"]}'))

    assert (done["status"], done["output"]) == (0, "readme.txt\n")
    kinds = [kind for kind, _ in events(nexus.place)]
    assert kinds[-4:] == ["action.judged", "permission.granted", "tool.intended", "tool.executed"]


def test_a_person_sees_a_card_and_says_yes_once(nexus: Nexus) -> None:
    given = json.dumps({"patch": PATCH, "summary": "greet \x1b[31mbetter"})

    status, drawn = answered(nexus.place, "git", "nexus", "tool", "repo.apply_patch", given, typed=("", "y"))

    assert status == 0
    assert "│ greet \\x1b[31mbetter" in drawn
    assert "│ +hello there" in drawn
    assert "digest   sha256:" in drawn
    assert (nexus.place / "readme.txt").read_text() == "hello there\n"
    assert run_git(nexus.place, "rev-list", "--count", "HEAD").strip() == "1"
    assert nexus("tool", "repo.apply_patch", given).returncode == 21


def test_a_no_is_kept_with_its_reason(nexus: Nexus) -> None:
    given = json.dumps({"argv": ["touch", "made"]})

    status, _ = answered(nexus.place, "git", "nexus", "tool", "cmd.run", given, typed=("d", "not today"))

    assert status == 20
    assert not (nexus.place / "made").exists()
    assert ("permission.denied", "you said no: not today") in [
        (kind, body.get("why")) for kind, body in events(nexus.place)
    ]


def test_a_yes_for_a_command_holds_until_the_command_is_another(nexus: Nexus) -> None:
    given = json.dumps({"argv": ["ls", "readme.txt"]})
    assert answered(nexus.place, "git", "nexus", "tool", "cmd.run", given, typed=("a",))[0] == 0

    assert json.loads(nexus.ok("tool", "cmd.run", given))["output"] == "readme.txt\n"
    assert nexus("tool", "cmd.run", '{"argv": ["ls", "-a", "readme.txt"]}').returncode == 21


def test_a_standing_yes_that_was_changed_by_hand_is_none(nexus: Nexus) -> None:
    given = json.dumps({"argv": ["ls", "readme.txt"]})
    answered(nexus.place, "git", "nexus", "tool", "cmd.run", given, typed=("a",))
    (file,) = (nexus.place / ".git" / "nexus" / "grants").iterdir()
    file.write_text(file.read_text().replace("readme.txt", "*"))

    assert nexus("tool", "cmd.run", given).returncode == 21


@pytest.mark.skipif(not try_level("L2").there, reason=f"this machine cannot confine at L2: {try_level('L2').why}")
def test_a_command_sees_neither_denied_files_nor_git(nexus: Nexus) -> None:
    (nexus.place / ".env").write_text("TOKEN=abcdefgh\n")
    nexus.ok("policy", "add", "allow", "--", "grep", "-r", "TOKEN", ".")
    trust(nexus.place)

    done = json.loads(nexus.ok("tool", "cmd.run", '{"argv": ["grep", "-r", "TOKEN", "."]}'))

    assert "abcdefgh" not in done["output"]


def test_secrets_are_hidden_and_shown_on_request_which_is_recorded(nexus: Nexus) -> None:
    secret = "ghp_" + "a1B2c3" * 6
    patch = PATCH.replace("+hello there", f"+{secret}")
    given = json.dumps({"patch": patch})

    _, drawn = answered(nexus.place, "git", "nexus", "tool", "repo.apply_patch", given, typed=("u", "to check it", "q"))

    hidden, _, shown = drawn.partition("to check it")
    assert "1 secret hidden (1 github-token)" in hidden
    assert secret not in hidden
    assert secret in shown
    assert ("secret.revealed", "to check it") in [(kind, body.get("why")) for kind, body in events(nexus.place)]
