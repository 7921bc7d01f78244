"""A server on loopback that speaks as OpenAI-compatible servers and Ollama do, well or badly."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_BAD = {
    "huge": b" " * 300_000,
    "no chat": b'{"choices": []}',
    "not json": b"<html>busy</html>",
    "stream": b'data: {"choices":[{"delta":{"content":"{"}}]}\n\ndata: [DONE]\n\n',
}
GOOD = {"workflow": "plan-exec", "confidence": 88, "why": "it is large", "alternatives": ["exec"]}


class Stub:
    """What the server answers with, and what it was asked."""

    def __init__(self, manner: str, content: Any) -> None:
        self.manner = manner
        self.content = content
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.callers: list[str | None] = []
        self.over = threading.Event()
        self.url = ""


@contextmanager
def served(manner: str = "openai", content: Any = GOOD) -> Iterator[Stub]:
    """Serve until the block ends. `manner` says how: openai, ollama, or one of the bad ones below."""
    stub = Stub(manner, content)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            stub.asked.append(json.loads(body))
            stub.paths.append(self.path)
            stub.keys.append(self.headers.get("Authorization"))
            stub.callers.append(self.headers.get("User-Agent"))
            with suppress(OSError):  # whoever asked went away, as it should
                _answer(self, stub)

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(handler: BaseHTTPRequestHandler, stub: Stub) -> None:
    text = stub.content if isinstance(stub.content, str) else json.dumps(stub.content)
    message = {"message": {"role": "assistant", "content": text}}
    body = json.dumps({**message, "done": True} if stub.manner == "ollama" else {"choices": [message]}).encode()
    match stub.manner:
        case "429" | "500" | "404":
            return _send(handler, int(stub.manner), b'{"error": "no"}')
        case "redirect":
            handler.send_response(307)
            handler.send_header("Location", f"{stub.url}/elsewhere")
            handler.send_header("Content-Length", "0")
            return handler.end_headers()
        case "half":
            return _send(handler, 200, body[: len(body) // 2], length=len(body))
        case "silent":
            stub.over.wait(30)
            return None
        case "drip":
            return _drip(handler, stub, body)
        case "garbage":
            handler.wfile.write(b"\x00\xff\x00 what is HTTP\r\n\r\n")
            return None
        case _:
            return _send(handler, 200, _BAD.get(stub.manner, body))


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, length: int | None = None) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def _drip(handler: BaseHTTPRequestHandler, stub: Stub, body: bytes) -> None:
    """Send a byte now and then: no single wait is long, and it never ends."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) + 10_000))
    handler.end_headers()
    while not stub.over.is_set():
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)
