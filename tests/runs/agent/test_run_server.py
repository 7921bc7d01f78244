"""The tool server of a run as its agent meets it: over pipes, with bad manners, and when one side is killed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitnexus.runs.actions.approve import approve_action
from gitnexus.runs.agent.tools import TOOLS
from gitnexus.runs.open_run import OpenRun
from tests.conftest import Nexus
from tests.forked import ForkedServer
from tests.runs.begun import begun, new_file, patch_of

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def desk(project: Path) -> Iterator[OpenRun]:
    with begun(project) as found:
        yield found


class Agent:
    """The agent's side of one connection."""

    def __init__(self, desk: OpenRun) -> None:
        self.child = ForkedServer("-C", str(desk.repo.folder), "mcp", "--run", desk.record.id)
        self._asked = 0
        self.ask("initialize", HELLO)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        self.write(message if isinstance(message, bytes) else json.dumps(message).encode())

    def write(self, line: bytes) -> None:
        self.child.stdin.write(line + b"\n")
        self.child.stdin.flush()

    def begin(self, method: str, params: dict[str, Any]) -> int:
        self._asked += 1
        self.send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        return self._asked

    def heard(self, number: int) -> dict[str, Any]:
        while line := self.child.stdout.readline():
            found: dict[str, Any] = json.loads(line)
            if found.get("id") == number:
                return found
        raise AssertionError("the server went away")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self.heard(self.begin(method, params))

    def call(self, tool: str, **given: Any) -> tuple[bool, dict[str, Any]]:
        return told(self.ask("tools/call", {"name": tool, "arguments": given}))

    def close(self) -> int:
        return self.child.close()


def told(answer: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    result = answer["result"]
    return not result.get("isError", False), json.loads(result["content"][0]["text"])


def test_it_lists_the_tools_of_the_table_and_ends_with_its_caller(desk: OpenRun) -> None:
    agent = Agent(desk)

    assert [tool["name"] for tool in agent.ask("tools/list", {})["result"]["tools"]] == list(TOOLS)
    assert agent.close() == 0


def test_a_call_that_waits_is_answered_when_a_person_answers_and_holds_up_no_other(desk: OpenRun) -> None:
    agent = Agent(desk)
    number = agent.begin("tools/call", {"name": "propose_patch", "arguments": {
        "patch": patch_of("readme.txt", "hello", "goodbye"), "wait": 50}})  # fmt: skip
    # Answered in between, so the first call is waiting and has been taken in.
    while "a1" not in desk.view().actions:
        agent.call("status")
    approve_action(desk, "a1")

    taken, done = told(agent.heard(number))
    assert (taken, done["action"], done["status"], done["ok"]) == (True, "a1", "executed", True)
    assert agent.close() == 0


def test_without_patience_the_answer_is_that_it_waits(desk: OpenRun) -> None:
    agent = Agent(desk)

    taken, first = agent.call("ask", question="which?")
    refused, second = agent.call("propose_patch", patch=new_file("../outside"))

    assert (taken, first) == (True, {"question": "q1", "status": "waiting"})
    assert (refused, "outside" in second["error"]) == (False, True)
    agent.close()


def test_garbage_is_survived_and_a_line_without_end_takes_no_memory(desk: OpenRun) -> None:
    agent = Agent(desk)
    for line in (b"", b"{", b"\xff\xfe\0", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"[" * 100_000, b"x" * 40_000_000,
                 b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":7}}',
                 b'{"jsonrpc":"2.0","id":78,"method":"no/such","params":{}}'):  # fmt: skip
        agent.write(line)

    taken, found = agent.call("read", path="readme.txt")
    assert (taken, found["text"]) == (True, "hello")
    assert agent.call("propose_patch", patch=7)[0] is False
    peak = next(line for line in Path(f"/proc/{agent.child.pid}/status").read_text().splitlines() if "VmHWM" in line)
    assert int(peak.split()[1]) < 400_000
    assert desk.view().actions == {}
    assert agent.close() == 0


def test_two_agents_at_once_never_get_one_name_for_two_actions(desk: OpenRun) -> None:
    agents = [Agent(desk), Agent(desk)]
    argv = {"name": "propose_command", "arguments": {"argv": ["true"]}}
    numbers = [(agent, agent.begin("tools/call", argv)) for _ in range(5) for agent in agents]
    names = [told(agent.heard(number))[1]["action"] for agent, number in sorted(numbers, key=lambda one: one[1])]

    assert sorted(names) == sorted(f"a{at}" for at in range(1, 11))
    assert (len(desk.view().actions), desk.view().odd) == (10, ())
    for agent in agents:
        agent.close()


def test_a_killed_server_leaves_the_log_whole_and_the_next_one_goes_on(desk: OpenRun) -> None:
    agent = Agent(desk)
    agent.call("propose_patch", patch=new_file("new.txt"))
    agent.child.kill()
    agent.child.close()

    taken, found = (again := Agent(desk)).call("status")

    assert (taken, [one["action"] for one in found["actions"]]) == (True, ["a1"])
    approve_action(desk, "a1")
    assert again.call("wait", id="a1")[1]["status"] == "executed"
    again.close()


@pytest.mark.slow
def test_a_run_that_is_not_there_has_no_server(nexus: Nexus, project: Path) -> None:
    assert nexus("mcp", "--run", "000000-0000-none").returncode == 4
