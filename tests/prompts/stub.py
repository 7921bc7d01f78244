"""A server on loopback that speaks as OpenAI-compatible servers do, well or badly, one manner for each request."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.prompts.interfaces import FORMS


class Stub:
    """What the server answers, in turn (the last one for ever), and what it was asked."""

    def __init__(self, manners: tuple[Any, ...]) -> None:
        self.manners = manners
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.over = threading.Event()
        # Set by a test to let a stream go on that was paced.
        self.go = threading.Event()
        self.speaks = "openai"
        self.url = ""

    @property
    def prompts(self) -> list[str]:
        """All words of each request."""
        return ["\n".join(str(one["content"]) for one in body["messages"]) for body in self.asked]


@contextmanager
def served(*manners: Any, speaks: str = "openai") -> Iterator[Stub]:
    """Serve until the block ends. A manner is a value to answer with, text: and a text, or a word from below.

    `speaks` is the interface, one of `tests.prompts.interfaces`.
    """
    stub = Stub(manners)
    stub.speaks = speaks

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            manner = stub.manners[min(len(stub.asked), len(stub.manners) - 1)]
            stub.asked.append(json.loads(body))
            stub.paths.append(self.path)
            stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            with suppress(OSError):  # whoever asked went away, as it should
                _answer(self, stub, manner, speaks != "openai" or stub.asked[-1].get("stream") is True)

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_port}{'/v1' if speaks == 'openai' else ''}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def chat(text: str, ended: str = "stop", **message: Any) -> bytes:
    """Return the body of an answer."""
    choice = {"index": 0, "finish_reason": ended, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                       "usage": usage}).encode()  # fmt: skip


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> dict[str, Any]:
    """Return a manner: the model calls tools."""
    return {"calling": [{"id": f"c{at}", "name": name, "arguments": given} for at, (name, given) in enumerate(calls)],
            "text": text}  # fmt: skip


def _message_of(manner: dict[str, Any]) -> bytes:
    calls = [{"id": one["id"], "type": "function",
              "function": {"name": one["name"], "arguments": json.dumps(one["arguments"])}}
             for one in manner["calling"]]  # fmt: skip
    return chat(manner["text"], "tool_calls", tool_calls=calls, **manner.get("message", {}))


def _bodies() -> dict[str, bytes]:
    return {
        "stream": b'data: {"choices":[{"delta":{"content":"{"}}]}\n\ndata: {"cho',
        "huge": chat("x" * 3_000_000),
        "empty": chat("  "),
        "nothing": b"",
        "no choice": b'{"choices": []}',
        "refusal": chat("", refusal="I cannot help with that"),
        "filtered": chat("", "content_filter"),
        "length": chat('{"question": "q", "summary": "s"}', "length"),
    }


def _answer(handler: BaseHTTPRequestHandler, stub: Stub, manner: Any, is_stream: bool) -> None:
    form = FORMS[stub.speaks] if is_stream else bytes
    if isinstance(manner, dict) and "calling" in manner:
        return _send(handler, 200, form(_message_of(manner)))
    if not isinstance(manner, str):
        return _send(handler, 200, form(chat(json.dumps(manner))))
    word, _, rest = manner.partition(":")
    if word in _BROKEN:
        return _BROKEN[word](handler, stub, rest)
    if word == "text":
        return _send(handler, 200, form(chat(rest)))
    if word == "plain":  # a server that cannot stream
        return _send(handler, 200, chat(rest))
    return _send(handler, 200, _bodies()[manner])


def _half(handler: BaseHTTPRequestHandler, _stub: Stub, _rest: str) -> None:
    body = chat('{"question": "q"}')
    _send(handler, 200, body[: len(body) // 2], length=len(body))


def _cut(handler: BaseHTTPRequestHandler, stub: Stub, rest: str) -> None:
    """Send a stream that ends in the middle."""
    body = FORMS[stub.speaks](chat(rest))
    _send(handler, 200, body[: len(body) // 2])


def _flood(handler: BaseHTTPRequestHandler, stub: Stub, rest: str) -> None:
    """Send megabytes of text."""
    _send(handler, 200, FORMS[stub.speaks](chat("x" * (int(rest) * 2**20)), 2**16))


def _garbage(handler: BaseHTTPRequestHandler, _stub: Stub, _rest: str) -> None:
    handler.wfile.write(b"\x00\xff\x00 what is HTTP\r\n\r\n")


def _pace(handler: BaseHTTPRequestHandler, stub: Stub, rest: str) -> None:
    """Send a stream to the mark |, and the rest of it when the test says so."""
    begin, _, end = rest.partition("|")
    body = FORMS[stub.speaks](chat(begin + end))
    at = len(FORMS[stub.speaks](chat(begin)).split(b'finish_reason": "stop')[0].rpartition(b"\n\n")[0])
    handler.send_response(200)
    handler.end_headers()
    for piece in (body[:at], body[at:]):
        handler.wfile.write(piece)
        handler.wfile.flush()
        stub.go.wait(30)


def _keep_silent(stub: Stub) -> None:
    stub.over.wait(30)


def _drip(handler: BaseHTTPRequestHandler, stub: Stub) -> None:
    """Send a byte every now and then, for ever."""
    handler.send_response(200)
    handler.end_headers()
    while not stub.over.wait(0.02):
        handler.wfile.write(b":")
        handler.wfile.flush()


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None,
    length: int | None = None,
) -> None:  # fmt: skip
    handler.send_response(status)
    for name, value in {**(headers or {}), "Content-Length": str(len(body) if length is None else length)}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


_BROKEN: dict[str, Callable[[BaseHTTPRequestHandler, Stub, str], None]] = {
    "status": lambda to, _, rest: _send(to, int(rest), b'{"error": "no"}', {"Retry-After": "7"}),
    "redirect": lambda to, stub, _: _send(to, 307, b"", {"Location": f"{stub.url}/elsewhere"}),
    "refuses": lambda to, _, rest: _send(to, 400, json.dumps({"error": {"message": rest}}).encode()),
    "fails": lambda to, _, rest: _send(to, 500, json.dumps({"error": {"message": rest}}).encode()),
    "silent": lambda _, stub, __: _keep_silent(stub),
    "half": _half,
    "cut": _cut,
    "flood": _flood,
    "paced": _pace,
    "garbage": _garbage,
    "drip": lambda to, stub, _: _drip(to, stub),
}
