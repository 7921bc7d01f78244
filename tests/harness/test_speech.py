"""Each program hears us in its own words, and whatever it sends is taken as it can be."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.harness.model import EVENTS, Event, HookAnswer
from gitnexus.harness.protocols.table import NAMES, load_harness_protocol

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["hook_event_name", "session_id", "cwd", "tool_name", "tool_input", "tool_response", "prompt", "agent_id", "args"]
)


@pytest.mark.parametrize("name", NAMES)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(payload=st.dictionaries(FIELDS, VALUES, max_size=8), event=st.sampled_from(EVENTS))
def test_whatever_is_sent_is_heard(name: str, payload: dict[str, Any], event: Event) -> None:
    happening = load_harness_protocol(name).heard(event, payload)

    assert happening.harness == name
    assert happening.event == event


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verdict", ["ask", "deny", "defer"])
def test_what_is_not_allowed_is_never_silence(name: str, verdict: Any) -> None:
    speech = load_harness_protocol(name)
    happening = speech.heard("pre_tool_use", {"tool_name": "Bash", "tool_input": {"command": "rm -rf ."}})

    spoken = speech.render_answer(happening, HookAnswer(verdict=verdict, reason="no"))

    assert spoken.status == 2 or json.loads(spoken.out)
    assert b"no" in spoken.out or "no" in spoken.err


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("multi_agent_v1wait_agent", "wait_agent"),
        ("multi_agent_v2__close_agent", "close_agent"),
        ("spawn_agent", "spawn_agent"),
        ("mcp__nexus__nx_task_add", "mcp__nexus__nx_task_add"),
        ("multi_agent_v1", "multi_agent_v1"),
    ],
)
def test_codex_names_some_tools_with_their_namespace(told: str, meant: str) -> None:
    assert load_harness_protocol("codex").heard("pre_tool_use", {"tool_name": told}).tool == meant


@pytest.mark.parametrize("name", NAMES)
def test_a_refusal_needs_nothing_of_the_payload(name: str) -> None:
    spoken = load_harness_protocol(name).refused("pre_tool_use", "")

    assert spoken.status == 2
