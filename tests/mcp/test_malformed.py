"""What is no message gets an answer: a client that waits for one would wait for ever."""

import json
from pathlib import Path

import pytest

from gitnexus.mcp.lines import find_request_id
from tests.conftest import Nexus, run_git
from tests.forked import ForkedServer

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
PARSE, INVALID = -32700, -32600


def asked(number: str, title: str) -> bytes:
    call = f'"name":"nx_task_add","arguments":{{"context":"c","title":{title}}}'
    return f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{{call}}}}}'.encode()


def test_a_line_that_is_no_message_is_answered_with_its_id_and_the_next_one_is_heard(project: Path) -> None:
    server = ForkedServer("-C", str(project), "mcp")

    def answer(line: bytes) -> tuple[object, object]:
        server.stdin.write(line + b"\n")
        server.stdin.flush()
        found = json.loads(server.stdout.readline())
        return found["id"], found.get("error", {}).get("code")

    assert answer(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}).encode()) == (
        0,
        None,
    )
    server.stdin.write(b'\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    assert answer(asked("1", '"\\ud800"'))[0] == 1
    assert answer(asked("2", "9" * 5001))[0] == 2
    assert answer(asked('"x"', "[" * 5000 + "]" * 5000))[0] == "x"
    assert answer(asked("1.0", '"t"')) == (None, INVALID)
    assert answer(asked("true", '"t"')) == (None, INVALID)
    assert answer(b"[" * 100_000) == (None, PARSE)
    assert answer(b'{"jsonrpc":"2.0","id":7,') == (7, PARSE)
    assert answer(b"\xff\xfe{") == (None, PARSE)
    assert answer(b"null") == (None, INVALID)
    assert answer(asked("8", '"a title"')) == (8, None)
    assert server.close() == 0


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"id": 5}', 5),
        ('{"params": {"id": 6}, "id": "a"}', "a"),
        ('{"params": {"id": 6}}', None),
        ('[{"id": 6}]', None),
        ('{"x": "\\"id\\":7", "id": 8', 8),
        ('{"id": "\\ud800"}', None),
        ('{"id": 12345678901234567890}', None),
        ("", None),
    ],
)
def test_the_id_is_that_of_the_request_and_of_nothing_in_it(line: str, found: object) -> None:
    assert find_request_id(line) == found


def modern(number: int, name: str, **meta: str) -> bytes:
    """Return a call as a client of revision 2026-07-28 makes it: no handshake, all that it says is in the request."""
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        **meta,
    }
    params = {"name": name, "arguments": {}, "_meta": envelope}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode() + b"\n"


def test_a_client_that_cannot_be_asked_for_its_roots_is_served_in_the_project_that_it_names_or_stands_in(
    project: Path, tmp_path: Path, nexus: Nexus
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run_git(other, "init", "-q")
    assert nexus("init", "--no-hooks", "--name", "other", place=other).returncode == 0
    assert nexus("task", "add", "of the other", place=other).returncode == 0
    server = ForkedServer("-C", str(project), "mcp")

    def titles(**meta: str) -> list[str]:
        server.stdin.write(modern(1, "nx_backlog_list", **meta))
        server.stdin.flush()
        found = json.loads(server.stdout.readline())["result"]
        assert not found.get("isError"), found
        return [task["title"] for task in json.loads(found["content"][0]["text"])["tasks"]]

    assert titles() == []
    assert titles(**{"git-nexus/project": str(other)}) == ["of the other"]
    assert titles(**{"git-nexus/project": other.as_uri()}) == ["of the other"]
    assert titles(**{"git-nexus/project": "other"}) == ["of the other"]
    assert titles() == []
    assert server.close() == 0
