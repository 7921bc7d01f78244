"""What is no message gets an answer: a client that waits for one would wait for ever."""

import json
from pathlib import Path

import pytest

from gitnexus.mcp.lines import id_in
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
    assert id_in(line) == found
