"""The live wires: what the real programs sent, understood; and whatever else comes, borne."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.adapters import AgentEnd, AgentEvent, AgentJob
from gitnexus.adapters.lines import LINE_LIMIT, MESSAGE_LIMIT, TEXT_LIMIT
from gitnexus.adapters.live import CONVERSATIONS, PendingCall, conversation_for
from gitnexus.adapters.live.protocol import FileDiff
from gitnexus.adapters.table import find_adapter
from tests.adapters.test_lines import objects as other_objects
from tests.conftest import examples

RECORDED = Path(__file__).with_name("recorded")
JOB = AgentJob(prompt="do it", way="contained", folder="/project", private="/private", live=True)
WORDS = (
    "type subtype control_request control_response request request_id can_use_tool tool_name input tool_use_id result "
    "method id params item changes kind path diff add delete update move_path itemId command cwd availableDecisions "
    "item/started item/completed item/fileChange/requestApproval item/commandExecution/requestApproval fileChange "
    "commandExecution agentMessage turn/completed turn status completed error message thread jsonrpc session/update "
    "update sessionUpdate agent_message_chunk content text tool_call tool_call_update toolCallId toolCall title "
    "rawInput session/request_permission options optionId allow_once reject_once execute edit newText "
    "fs/write_text_file stopReason end_turn usage sessionId workdir 1 2 3 0"
).split()
scalars = st.one_of(st.none(), st.booleans(), st.integers(-1, 5), st.text(max_size=12), st.sampled_from(WORDS))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)),
    max_leaves=10,
)
objects = st.dictionaries(st.sampled_from(WORDS), values, max_size=6).map(lambda value: json.dumps(value).encode())


def talked(
    name: str, job: AgentJob = JOB, *, yes: bool = True
) -> tuple[list[PendingCall], list[dict[str, object]], list[AgentEvent], AgentEnd]:
    """Play a recording: what was asked, what we sent, what was said, and the end."""
    wire = conversation_for(name, job)
    assert wire is not None
    asked, sent, said, over = [], wire.opened(), [], False
    for line in (RECORDED / f"{name}.txt").read_bytes().splitlines():
        heard = wire.feed(line)
        sent += heard.out
        said += heard.said
        over = over or heard.over
        for one in heard.asked:
            asked.append(one)
            sent += wire.answered(one, yes=yes, why="no reason")
    assert over
    return asked, [json.loads(line) for line in sent.splitlines()], said, wire.end(0)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_with_two_calls_is_understood_whole(name: str) -> None:
    asked, _, said, ended = talked(name)
    files, command = [one for one in asked if not one.performs]

    assert (ended.ok, ended.reason, ended.message) == (True, "completed", "All done.")
    assert ended.tokens_in > 0
    assert len(ended.session) > 10
    if name == "claude":
        assert (files.tool, files.given) == ("Write", {"file_path": "/project/n.txt", "content": "one\n"})
        assert (command.tool, command.given) == ("Bash", {"command": "echo ran > ran.txt"})
    else:
        assert FileDiff("/project/n.txt", "whole", "one\n") in files.diffs
        words = command.given["command"]
        assert words == (["/bin/bash", "-lc", "echo ran > ran.txt"] if name == "codex" else "echo ran > ran.txt")
        assert command.cwd == "/project"
    results = {one.call: one.ok for one in said if one.kind == "tool_result"}
    assert (results[files.call], results[command.call]) == (True, True)


def test_a_change_of_a_file_by_codex_is_told_in_hunks() -> None:
    files = talked("codex")[0][0]

    assert files.diffs[1] == FileDiff("/project/readme.txt", "hunks", "@@ -1,2 +1,2 @@\n hello\n-old\n+new\n")


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("claude", {"behavior": "allow"}, {"behavior": "deny", "message": "no reason"}),
        ("codex", {"decision": "accept"}, {"decision": "decline"}),
        ("gemini", {"outcome": "selected", "optionId": "proceed_once"}, {"outcome": "selected", "optionId": "cancel"}),
        ("opencode", {"outcome": "selected", "optionId": "once"}, {"outcome": "selected", "optionId": "reject"}),
    ],
)
def test_answers_are_in_the_programs_own_words(name: str, yes: dict[str, str], no: dict[str, str]) -> None:
    for wanted, expected in ((True, yes), (False, no)):
        first = talked(name, yes=wanted)[0][0]
        sent = json.dumps([row for row in talked(name, yes=wanted)[1] if str(first.id) in json.dumps(row)])

        for key, value in expected.items():
            assert f'"{key}": "{value}"' in sent


def test_the_input_of_a_tool_goes_back_as_it_was() -> None:
    asked, sent, _, _ = talked("claude")

    allowed = [row["response"]["response"] for row in sent if row["type"] == "control_response"]  # type: ignore[index]
    assert [one["updatedInput"] for one in allowed] == [dict(one.given) for one in asked]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_session_is_taken_up(name: str) -> None:
    job = AgentJob(prompt="go on", way="contained", folder="/project", private="/private", live=True, session="s-1")
    sent = json.dumps(talked(name, job)[1])

    if name == "claude":
        assert "--resume=s-1" in find_adapter(name).launch(job).argv
    else:
        assert ("session/load" in sent or "thread/resume" in sent) and '"s-1"' in sent


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_request_that_nobody_knows_is_refused_in_form(name: str) -> None:
    wire = conversation_for(name, JOB)
    assert wire is not None
    control = b'{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message"}}'
    line = control if name == "claude" else b'{"jsonrpc":"2.0","id":"r","method":"terminal/create","params":{}}'

    heard = wire.feed(line)

    assert heard.asked == ()
    assert b"not known here" in heard.out
    assert b'"r"' in heard.out


@pytest.mark.parametrize("name", CONVERSATIONS)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.one_of(objects, other_objects, st.binary(max_size=60)), max_size=12), status=st.integers(-9, 9)
)
def test_whatever_comes_nothing_raises_and_all_that_is_sent_is_a_line_of_json(
    name: str, lines: list[bytes], status: int
) -> None:
    wire = conversation_for(name, JOB)
    assert wire is not None
    sent, said = wire.opened(), []
    for line in lines:
        heard = wire.feed(line)
        sent += heard.out
        said += heard.said
        for asked in heard.asked:
            sent += wire.answered(asked, yes=False, why="\ud800 no\n")
            sent += wire.answered(asked, yes=True, why="")
    ended = wire.end(status)

    for line in sent.splitlines():
        assert isinstance(json.loads(line), dict)
    assert all(len(one.text) <= TEXT_LIMIT and "\x1b" not in one.text + one.tool + one.call for one in said)
    assert len(ended.message) <= MESSAGE_LIMIT
    assert status == 0 or not ended.ok


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_line_without_end_is_noise(name: str) -> None:
    wire = conversation_for(name, JOB)
    assert wire is not None

    heard = wire.feed(b'{"type":"control_request","x":"' + b"x" * LINE_LIMIT + b'"}')

    assert heard.asked == ()
    assert [one.kind for one in heard.said] == ["noise"]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_live_the_program_is_started_so_that_it_asks(name: str, tmp_path: Path) -> None:
    job = AgentJob(prompt="p", way="contained", folder=str(tmp_path / "w"), private=str(tmp_path / "p"), live=True)
    launch = find_adapter(name).launch(job)
    told = "\n".join([*launch.argv, *(content.decode() for content in launch.files.values())])

    assert launch.stdin == b""
    expected = {
        "claude": ["--permission-prompt-tool=stdio", "--permission-mode=default", '"ask": ["Edit", "Write", "Bash"]'],
        "codex": ["app-server", 'approval_policy = "on-request"'],
        "gemini": ["--acp", "--approval-mode=default", 'toolName = "write_file"\ndecision = "ask_user"'],
        "opencode": ["acp", '"edit": "ask"', '"bash": "ask"'],
    }
    assert all(words in told for words in expected[name])
