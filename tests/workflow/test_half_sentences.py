"""Half sentences, small talk and misspelt names in run, route and the chat: a reply or a question, and no run."""

import json
from pathlib import Path

import pytest

from gitnexus.workflow.small_talk import reply_to_small_talk
from tests.conftest import Nexus, run_git

HALVES = (
    "could you please",
    "how does",
    "what about",
    "What",
    "the parser in",
    "in src/conf.py",
    "1",
    "I need",
    "@claude",
)


@pytest.mark.parametrize("prompt", HALVES)
def test_half_a_sentence_gets_a_question_back(prompt: str) -> None:
    assert reply_to_small_talk(prompt).startswith(("What about “", "What should @claude do?"))


@pytest.mark.parametrize(
    "prompt",
    ["do it", "what changed", "where is it defined", "is it safe", "log in with a token", "turn it on", "src/conf.py",
     "@claude fix it", "how many tests are there", "can you fix it"],
)  # fmt: skip
def test_a_short_request_is_no_half_sentence(prompt: str) -> None:
    assert reply_to_small_talk(prompt) == ""


def test_route_tells_what_run_would_answer(project: Path, nexus: Nexus) -> None:
    shown = nexus.ok("route", "hello")

    assert "No workflow" in shown
    assert "Hello." in shown
    assert json.loads(nexus.ok("route", "hello", "--json"))["reply"].startswith("Hello.")


def test_an_agent_whose_name_is_misspelt_is_not_read_as_a_word(project: Path, nexus: Nexus) -> None:
    refused = nexus("run", "fix the parser, then @claud review it")

    assert refused.returncode != 0
    assert "there is no agent @claud" in refused.stderr
    assert "did you mean @claude?" in refused.stderr
    assert nexus("route", "@property is used where it should not be").returncode == 0


@pytest.mark.parametrize(
    ("prompt", "kinds"),
    [
        ("plan it first, then stop", ["plan"]),
        ("make the change but show me the plan first", ["plan", "exec"]),
        ("Describe the design", ["research"]),
        ("Describe a design for the cache", ["plan"]),
        ("I wonder how key rotation works", ["research"]),
        ("stop the server at exit", ["exec"]),
        ("fix the parser, then wait for me", ["exec"]),
    ],
)
def test_what_is_asked_for_is_read_from_the_whole(project: Path, nexus: Nexus, prompt: str, kinds: list[str]) -> None:
    definition = json.loads(nexus.ok("route", prompt, "--json"))["workflow"]

    assert [node["type"] for node in definition["nodes"]] == kinds


def test_the_chat_replies_starts_what_only_reads_and_names_the_command(project: Path, nexus: Nexus) -> None:
    (project / "conf.py").write_text("def load_config():\n    return 1\n")
    run_git(project, "add", "conf.py")
    run_git(project, "commit", "-qm", "a function")
    (project / "lines").write_text("hello\nWhat does load_config do?\nimprove the design\n")

    done = nexus("chat", "--plain", "--script", "lines")
    told = done.stdout + done.stderr

    assert "Hello. You can ask" in told
    assert "start it?\n" not in told
    assert "is completed; nothing was changed" in told
    assert "file:conf.py#L1" in told
    assert "git nexus model add" in told
