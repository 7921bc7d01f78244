"""Several sessions of one program, and what each of them may forget."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from jsonschema import Draft202012Validator

from gitnexus.cycle import call
from gitnexus.projects.open_session import open_session
from tests.forked import forker
from tests.harness.conftest import Programs
from tests.harness.payloads import RECORDED, placed
from tests.harness.programs import Program
from tests.harness.test_events import LEFT, SCHEMA


def started(harness: Program, session: str, agent: str, role: str = "engineer") -> None:
    harness("subagent_spawn", session_id=session, agent_id=agent, agent_type=role)


def names(harness: Program) -> list[str]:
    return [row["agent_id"] for row in harness.file("agent-tracker.json")]


def test_a_session_that_ends_forgets_its_own_agents_and_no_others(program: Programs) -> None:
    harness = program("claude-code")
    for session in ("one", "two"):
        harness("session_start", session_id=session)
        started(harness, session, f"{session}-a")
        harness("subagent_complete", session_id=session, agent_id=f"{session}-a")
        started(harness, session, f"{session}-b")

    harness("session_end", session_id="one")

    assert names(harness) == ["two-a", "two-b"]
    assert list(harness.file("sessions.json")["sessions"]) == ["two"]


def test_a_tool_that_begins_or_ends_a_session_forgets_no_agent_that_hooks_told_of(
    program: Programs, place: Path
) -> None:
    harness = program("claude-code")
    harness("session_start")
    harness("subagent_spawn")
    session = open_session(place, "claude-code")

    for tool in ("session_start", "session_end"):
        call(session, tool, {})

    assert len(names(harness)) == 1


def test_what_waited_for_a_session_that_ended_is_gone_and_no_more(program: Programs) -> None:
    harness = program("claude-code")
    for session in ("one", "two"):
        harness("session_start", session_id=session)
        harness("pre_tool_use", session_id=session)
        started(harness, session, f"{session}-a")
        harness("subagent_complete", session_id=session, agent_id=f"{session}-a")
        harness("pre_tool_use", session_id=session)

    harness("session_end", session_id="one")

    left = [json.loads(line) for line in (harness.folder / "mail.jsonl").read_text().splitlines()]
    assert [(row["to"], row["kind"]) for row in left] == [("two", "note"), ("two/engineer", "brief")]


def test_a_session_that_begins_beside_another_leaves_its_agents_and_calls_nothing_stale(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start", session_id="one")
    started(harness, "one", "a")

    heard = harness("session_start", session_id="two")

    assert names(harness) == ["a"]
    assert heard.notice == ""
    assert "a plan and tasks are open, and another session is at work on them." in heard.context


def test_what_a_crashed_session_left_is_gone_with_the_next_start(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start", session_id="one")
    started(harness, "one", "a")
    known = harness.file("sessions.json")
    known["sessions"]["one"]["seen_at"] = "2020-01-01T00:00:00.000000Z"
    (harness.folder / "sessions.json").write_text(json.dumps(known))

    heard = harness("session_start", session_id="two")

    assert names(harness) == []
    assert heard.notice == LEFT


def test_a_session_that_is_taken_up_again_still_knows_its_agents(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start")
    harness("subagent_spawn")

    heard = harness("session_start", source="resume")

    assert len(names(harness)) == 1
    assert heard.notice == ""
    assert heard.context.startswith("git nexus: a plan and tasks of this session are open.")


def test_an_agent_that_nobody_told_of_is_not_made_up_at_its_end(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start")

    heard = harness("subagent_complete", agent_id="compactor", agent_type="")

    assert (heard.status, heard.out, heard.err) == (0, b"", "")
    assert names(harness) == []


def test_an_agent_that_is_started_again_is_taken_up_and_keeps_its_task(program: Programs) -> None:
    harness = program("claude-code")
    harness("pre_tool_use")
    harness("subagent_spawn")
    harness("subagent_complete")
    harness("subagent_spawn")

    (row,) = harness.file("agent-tracker.json")
    assert (row["status"], row["resume_count"]) == ("running", 1)
    assert Draft202012Validator(SCHEMA).is_valid([row])
    assert list(harness.file("tasks.extension.json")["agents"].values()) == [{"task": 1}]


def test_roles_that_the_schema_cannot_spell_are_spelled_so_that_it_can(program: Programs) -> None:
    harness = program("claude-code")
    for at, role in enumerate(["Explore", "my plugin:Deep Review", "7", "", "ünï", "a" * 300]):
        started(harness, "s", f"agent-{at}\x1b", role)

    rows = harness.file("agent-tracker.json")
    assert Draft202012Validator(SCHEMA).is_valid(rows)
    assert [row.get("agent_name") for row in rows[:4]] == ["explore", "deep-review", None, None]


def test_agents_of_two_sessions_in_real_processes_lose_nothing_of_each_other(place: Path) -> None:
    def hook(agent: tuple[str, str], event: str) -> int:
        recorded = RECORDED["claude-code"][event]
        raw = json.dumps(placed(recorded, place, session_id=agent[0], agent_id=agent[1]))
        return forker()(["hook", "harness", "claude-code", event], place, raw).returncode

    agents = [(session, f"{session}{number}") for number in range(3) for session in ("one-", "two-")]
    with ThreadPoolExecutor(len(agents)) as threads:
        for event in ("subagent_spawn", "subagent_complete"):
            assert [*threads.map(partial(hook, event=event), agents)] == [0] * len(agents)

    folder = place / ".nexus/state/claude-code"
    rows = json.loads((folder / "agent-tracker.json").read_text())
    sessions = json.loads((folder / "sessions.json").read_text())["sessions"]
    assert sorted(row["agent_id"] for row in rows) == sorted(agent for _, agent in agents)
    assert {row["status"] for row in rows} == {"completed"}
    assert Draft202012Validator(SCHEMA).is_valid(rows)
    assert sorted(sessions["one-"]["agents"]) == [f"one-{number}" for number in range(3)]
