"""What the real programs printed, read back.

Recorded by tests/slow/test_adapters_real.py with NEXUS_RECORD set, with the paths of the machine taken out.
"""

from pathlib import Path

import pytest

from gitnexus.adapters import AgentEnd, AgentEvent
from gitnexus.adapters.table import find_adapter
from tests.adapters.stub_models import IN, OUT

RECORDED = Path(__file__).with_name("recorded")


def read(name: str, status: int = 0, lines: int | None = None) -> tuple[list[AgentEvent], AgentEnd]:
    reader = find_adapter(name.partition("-")[0]).reader()
    raw = (RECORDED / f"{name}.txt").read_bytes().splitlines()[:lines]
    return [one for line in raw for one in reader.feed(line)], reader.end(status)


@pytest.mark.parametrize("name", ["claude-contained", "codex-contained", "gemini-contained", "opencode-contained"])
def test_a_run_with_two_calls_is_understood_whole(name: str) -> None:
    said, ended = read(name)

    assert (ended.ok, ended.reason, ended.message, ended.noise) == (True, "completed", "All done.", 0)
    assert (ended.tokens_in, ended.tokens_out) == (3 * IN, 3 * OUT)
    assert len(ended.session) > 10
    kinds = [one.kind for one in said if one.kind in ("tool_call", "tool_result", "message")]
    assert kinds == ["tool_call", "tool_result", "tool_call", "tool_result", "message"]
    assert all(one.ok for one in said if one.kind == "tool_result")
    last = [one for one in said if one.kind == "cost"][-1]
    assert (last.tokens_in, last.tokens_out) == (ended.tokens_in, ended.tokens_out)


def test_a_newer_claude_is_understood_as_well() -> None:
    said, ended = read("claude-newer")

    assert (ended.ok, ended.message, ended.turns, ended.tokens_in) == (True, "Done.", 3, 3 * IN)
    assert [one.tool for one in said if one.kind == "tool_call"] == ["Write", "Bash"]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("claude-proposer", "mcp__nexus__propose_patch"),
        ("codex-proposer", "propose_patch"),
        ("gemini-proposer", "mcp_nexus_propose_patch"),
        ("opencode-proposer", "nexus_propose_patch"),
    ],
)
def test_a_proposal_is_seen_as_a_call_and_other_tools_as_failed(name: str, tool: str) -> None:
    said, ended = read(name)
    results = [one for one in said if one.kind == "tool_result"]

    assert next(one.tool for one in said if one.kind == "tool_call") == tool
    assert "it waits" in results[0].text
    assert [one.ok for one in results] == [True] + [False] * (len(results) - 1)
    assert ended.message == "Proposed."


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_a_session_goes_on_under_its_name(name: str) -> None:
    _, first = read(f"{name}-contained")
    _, again = read(f"{name}-resumed")

    assert (again.ok, again.message, again.session) == (True, "Once more.", first.session)


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_a_refusal_of_the_model_is_the_reason_whatever_the_status(name: str) -> None:
    for status in (0, 1):
        _, ended = read(f"{name}-refused", status)

        assert (ended.ok, ended.reason) == (False, "failed")
        assert "no" in ended.message
        assert "\x1b" not in ended.message


@pytest.mark.parametrize("name", ["claude-contained", "codex-contained", "gemini-contained", "opencode-contained"])
def test_a_run_that_breaks_off_at_any_line_is_not_completed(name: str) -> None:
    whole = len((RECORDED / f"{name}.txt").read_bytes().splitlines())

    reasons = [read(name, lines=lines)[1].reason for lines in range(whole)]

    assert set(reasons) == {"unfinished"}
    assert read(name, status=-9)[1].reason == "killed"


def test_what_aider_prints_for_people_is_read_as_far_as_it_goes() -> None:
    said, ended = read("aider-contained")

    assert (ended.ok, ended.tokens_in > 0, ended.tokens_out > 0) == (True, True, True)
    assert [one.text for one in said if one.tool == "edit"] == ["new.txt"]
    assert read("aider-contained", status=1)[1].reason == "failed"


def test_aiders_counts_in_thousands_and_its_cost_are_read() -> None:
    reader = find_adapter("aider").reader()
    reader.feed(b"Tokens: 2.3k sent, 1.1k cache hit, 120 received. Cost: $0.02 message, $0.05 session.")
    reader.feed(b"Tokens: 1.5M sent, 7 received.")

    ended = reader.end(0)
    assert (ended.tokens_in, ended.tokens_out, ended.cost_usd) == (1_502_300, 127, 0.02)


def test_nothing_of_the_machine_is_in_what_was_recorded() -> None:
    for path in RECORDED.iterdir():
        text = path.read_text()
        assert not any(word in text for word in ("/tmp/", "/root", "/home/", "pytest")), path.name
