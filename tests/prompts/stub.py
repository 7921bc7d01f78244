"""A server on loopback that speaks as OpenAI-compatible servers do, well or badly, one manner for each request."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Stub:
    """What the server answers, in turn (the last one for ever), and what it was asked."""

    def __init__(self, manners: tuple[Any, ...]) -> None:
        self.manners = manners
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.over = threading.Event()
        self.url = ""

    @property
    def prompts(self) -> list[str]:
        """All words of each request."""
        return ["\n".join(one["content"] for one in body["messages"]) for body in self.asked]


@contextmanager
def served(*manners: Any) -> Iterator[Stub]:
    """Serve until the block ends. A manner is a value to answer with, text: and a text, or a word from below."""
    stub = Stub(manners)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            manner = stub.manners[min(len(stub.asked), len(stub.manners) - 1)]
            stub.asked.append(json.loads(body))
            stub.paths.append(self.path)
            stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            with suppress(OSError):  # whoever asked went away, as it should
                _answer(self, stub, manner)

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_port}/v1"
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


def _answer(handler: BaseHTTPRequestHandler, stub: Stub, manner: Any) -> None:
    if not isinstance(manner, str):
        return _send(handler, 200, chat(json.dumps(manner)))
    match manner.partition(":")[0]:
        case "status":
            return _send(handler, int(manner[7:]), b'{"error": "no"}', {"Retry-After": "7"})
        case "redirect":
            return _send(handler, 307, b"", {"Location": f"{stub.url}/elsewhere"})
        case "half":
            body = chat('{"question": "q"}')
            return _send(handler, 200, body[: len(body) // 2], length=len(body))
        case "silent":
            stub.over.wait(30)
            return None
        case "garbage":
            handler.wfile.write(b"\x00\xff\x00 what is HTTP\r\n\r\n")
            return None
        case "text":
            return _send(handler, 200, chat(manner[5:]))
        case _:
            return _send(handler, 200, _bodies()[manner])


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None,
    length: int | None = None,
) -> None:  # fmt: skip
    handler.send_response(status)
    for name, value in {**(headers or {}), "Content-Length": str(len(body) if length is None else length)}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
