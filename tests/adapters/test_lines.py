"""Whatever a program prints, a reader does not raise, stays within bounds, and says nothing that moves a terminal."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.adapters import AgentEnd, AgentEvent
from gitnexus.adapters.lines import (
    LINE_LIMIT,
    MESSAGE_LIMIT,
    TEXT_LIMIT,
    LineSplitter,
    as_amount,
    as_count,
    parse_json_line,
)
from gitnexus.adapters.table import ADAPTERS
from tests.conftest import examples

NAMES = sorted(ADAPTERS)
# Words that readers look for, so that chance finds its way past the first comparison.
WORDS = (
    "type subtype assistant user system result init message content text tool_use tool_result usage is_error "
    "success session_id thread.started thread_id item item.completed item.started turn.completed turn.failed "
    "error agent_message command_execution status delta role stats part sessionID step_finish step_start "
    "tokens cache cost reason stop state errors permission_denials total_cost_usd num_turns mcp_tool_call "
    "file_change start say call end ok input_tokens "
).split()
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.sampled_from(WORDS))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)),
    max_leaves=6,
)
objects = st.dictionaries(st.sampled_from(WORDS), values, max_size=5).map(lambda value: json.dumps(value).encode())


def check(said: list[AgentEvent], ended: AgentEnd) -> None:
    for one in said:
        assert len(one.text) <= TEXT_LIMIT
        assert len(one.tool) <= 120
        assert "\x1b" not in one.text + one.tool + one.call
        json.dumps(one.plain(), allow_nan=False)
    assert len(ended.message) <= MESSAGE_LIMIT
    assert "\x1b" not in ended.message
    json.dumps(ended.plain(), allow_nan=False).encode()


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(lines=st.lists(st.one_of(st.binary(max_size=200), objects), max_size=4), status=st.integers(-64, 255))
def test_no_line_makes_a_reader_raise(name: str, lines: list[bytes], status: int) -> None:
    reader = ADAPTERS[name].reader()

    said = [one for line in lines for one in reader.feed(line)]

    ended = reader.end(status)
    check(said, ended)
    assert not (ended.ok and status)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"[" * 200_000, id="brackets without end"),
        pytest.param(b'{"a":' * 50_000 + b"1" + b"}" * 50_000, id="an object in an object"),
        pytest.param(b'{"type":"result","num_turns":' + b"9" * 6000 + b"}", id="a number of 6,000 digits"),
        pytest.param(b"\xff\xfe\x00" * 1000, id="binary"),
        pytest.param(b'{"type":"assistant","message":{"content":[{"type":"te', id="half a line"),
        pytest.param(b'{"type":"error","message":"\\ud800\\u001b[2J"}', id="half a surrogate and an escape"),
        pytest.param(b"x" * (LINE_LIMIT + 10), id="huge"),
        pytest.param(
            b'{"type":"result","total_cost_usd":NaN,"usage":{"input_tokens":-5}}', id="NaN and less than none"
        ),
    ],
)
def test_hostile_lines_are_noise_or_harmless(name: str, line: bytes) -> None:
    reader = ADAPTERS[name].reader()

    check(reader.feed(line), reader.end(0))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("command", "aider")])
def test_noise_is_counted(name: str) -> None:
    reader = ADAPTERS[name].reader()

    said = [one for line in (b"\x00\x1b[2Jgarbage", b"", b"[1]") for one in reader.feed(line)]

    assert [(one.kind, one.count) for one in said] == [("noise", 1), ("noise", 2)]
    assert said[0].text == "\\x00\\x1b[2Jgarbage"
    assert reader.end(0).noise == 2


@pytest.mark.parametrize("name", [name for name in NAMES if name != "command"])
def test_silence_is_never_success(name: str) -> None:
    ended = ADAPTERS[name].reader().end(0)

    assert (ended.ok, ended.reason) == (False, "unfinished")


@given(st.lists(st.binary(max_size=30)), st.integers(1, 20))
def test_pieces_become_the_lines_that_the_whole_has(pieces: list[bytes], limit: int) -> None:
    lines = LineSplitter(limit)

    got = [line for piece in pieces for line in lines.feed(piece)] + lines.end()

    *whole, rest = b"".join(pieces).split(b"\n")
    assert got == [line[: limit + 1] for line in [*whole, *([rest] if rest else [])]]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, -0.5, True, "1", None, 10**400, [1]])
def test_what_is_no_amount_is_none(value: Any) -> None:
    assert as_amount(value) is None


@pytest.mark.parametrize("value", [-1, True, 1.5, "7", None, 10**40])
def test_what_is_no_count_is_nothing(value: Any) -> None:
    assert as_count(value) == 0


def test_only_an_object_is_an_object() -> None:
    assert [parse_json_line(line) for line in (b"{}", b"[]", b"1", b"", b"{")] == [{}, None, None, None, None]
