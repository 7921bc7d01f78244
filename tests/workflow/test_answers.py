"""Questions get answers on stdout, reading needs no card, and small talk starts nothing."""

import json
from pathlib import Path

import pytest

from gitnexus.runs.workflow.answer import only_reads
from gitnexus.runs.workflow.routing import route_prompt
from gitnexus.state import State
from gitnexus.workflow.proposal import WorkflowProposal
from gitnexus.workflow.small_talk import reply_to_small_talk
from tests.conftest import Nexus, run_git
from tests.prompts.stub import served


@pytest.fixture
def code(project: Path) -> Path:
    (project / "config.py").write_text("def load_config(path):\n    return open(path).read()\n")
    run_git(project, "add", "config.py")
    run_git(project, "commit", "-qm", "read the settings")
    return project


def test_a_question_is_answered_on_stdout_with_its_references(code: Path, nexus: Nexus) -> None:
    done = nexus("run", "What does load_config do?")

    assert done.returncode == 0, done.stderr
    assert "- config.py, line 1: “def load_config(path):”\n  file:config.py#L1" in done.stdout
    assert "Next:" not in done.stdout
    assert " completed  What does load_config do?\n" in done.stderr


def test_programs_get_the_answer_as_a_record(code: Path, nexus: Nexus) -> None:
    answer = json.loads(nexus.ok("run", "What does load_config do?", "--json"))["answer"]

    assert answer["claims"][0]["citations"] == ["file:config.py#L1-L2"]


def test_what_a_model_answers_is_shown_with_controls_spelled_out(code: Path, nexus: Nexus) -> None:
    claim = {"text": "It reads a file.", "citations": ["file:config.py#L1"], "confidence": 90}
    found = {
        "question": "q",
        "summary": "It reads\x1b[2J the file.",
        "claims": [claim],
        "unresolved": ["Who calls it?"],
    }
    with served(found) as stub:
        nexus.ok("model", "add", "--provider", "other", "--url", stub.url, "--model", "m", "--no-test")
        done = nexus("run", "What does load_config do?")

    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert done.stdout.endswith("- It reads a file.\n  file:config.py#L1\n\nOpen:\n- Who calls it?\n")


def proposed(place: Path, prompt: str) -> tuple[State, WorkflowProposal]:
    state = State.open(place)
    return state, route_prompt(state, prompt)


@pytest.mark.parametrize(
    ("prompt", "reads"),
    [
        ("What does load_config do?", True),
        ("fix the parser", False),
        ("plan the migration", False),
        ("have claude research the parser", False),
    ],
)
def test_only_what_reads_by_rules_or_a_model_needs_no_card(project: Path, prompt: str, reads: bool) -> None:
    state, proposal = proposed(project, prompt)
    try:
        assert only_reads(state, proposal.definition) is reads
    finally:
        state.close()


def test_a_policy_that_keeps_agents_from_reading_keeps_the_card(project: Path, nexus: Nexus) -> None:
    nexus.ok("policy", "add", "deny", "--read", "**")
    state, proposal = proposed(project, "What does load_config do?")
    try:
        assert not only_reads(state, proposal.definition)
    finally:
        state.close()


@pytest.mark.parametrize(
    ("prompt", "beginning"),
    [
        ("hello", "Hello. You can ask"),
        ("Hi there!", "Hello."),
        ("good morning, nexus", ""),
        ("thanks a lot!", "You are welcome."),
        ("bye", "Goodbye."),
        ("ok", "Nothing waits for that here."),
        ("how are you?", "Fine, thank you."),
        ("What can you do?", "git nexus: agents work"),
        ("???", "There is nothing in it to work on."),
        ("parser", "What about “parser”?"),
        ("the parser", "What about “the parser”?"),
    ],
)
def test_small_talk_gets_a_reply_and_half_a_sentence_a_question(prompt: str, beginning: str) -> None:
    assert reply_to_small_talk(prompt).startswith(beginning)


@pytest.mark.parametrize(
    "prompt",
    ["fix it", "run tests", "T12", "do T12", "README.md", "/plan", "`make`", "why?", "test the parser",
     "Hello world code", "no tests for the parser", "explain config", "refactor", "good error messages for the loader"],
)  # fmt: skip
def test_what_asks_for_something_is_no_small_talk(prompt: str) -> None:
    assert reply_to_small_talk(prompt) == ""


@pytest.mark.parametrize("prompt", ["fix the", "rename load_config to", "compare it with", "and then?", "so, and now"])
def test_a_sentence_that_ends_in_the_middle_gets_a_question_back(prompt: str) -> None:
    assert "“" + prompt + "”" in reply_to_small_talk(prompt)


def test_small_talk_starts_no_run(project: Path, nexus: Nexus) -> None:
    assert nexus.ok("run", "hello").startswith("Hello.")
    assert json.loads(nexus.ok("runs", "--json"))["runs"] == []
