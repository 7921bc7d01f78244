"""A model server on loopback that says what a test wrote down, in the four wire formats that agents speak.

Anthropic messages, OpenAI responses and chat completions, Gemini generateContent. Which step is next is read from the
conversation itself (how many results of tools it holds), so a retry gets the same answer again.
"""

import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

Wire = Literal["anthropic", "responses", "chat", "gemini"]
Fault = Literal["refused", "no json", "cut", "empty", "flood"]
IN, OUT = 100, 20


@dataclass(frozen=True)
class Step:
    """One answer: words, or a call of a tool; `custom` for a patch as text, `namespace` and `search` as Codex has them.

    `tokens` is what it says that the question was long: programs compact a conversation by that.
    """

    text: str = ""
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    custom: str = ""
    namespace: str = ""
    search: str = ""
    tokens: int = IN


class StubModels:
    """The server; `requests` is what was asked of it, `fault` how it misbehaves, if it does."""

    def __init__(self, *steps: Step, fault: Fault | None = None) -> None:
        self.steps = steps or (Step(text="Hello."),)
        self.fault = fault
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[tuple[str, dict[str, str]]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"stub": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def offered(self) -> set[str]:
        """Return the names of all tools that any request offered to the model."""
        return {name for _, body in self.requests for name in _tool_names(body)}

    def step(self, results: int, has_tools: bool) -> Step:
        """Return what is said after so many results; programs also ask for titles, without any tool."""
        if not has_tools and any(step.tool or step.custom for step in self.steps):
            return Step(text="A title")
        return self.steps[min(results, len(self.steps) - 1)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: StubModels

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [{"id": "stub-model", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        self.stub.requests.append((path, body))
        self.stub.headers.append((path, {name.lower(): value for name, value in self.headers.items()}))
        if path.endswith(("count_tokens", ":countTokens")):
            return self._json({"input_tokens": 10, "totalTokens": 10})
        if self.stub.fault:
            return self._misbehave(self.stub.fault)
        for ending, answer in _WIRES.items():
            if re.search(ending, path):
                step = self.stub.step(_results(body), bool(_tool_names(body)))
                whole, events = answer(step, _results(body), str(body.get("model", "stub-model")))
                streams = bool(body.get("stream")) or "stream" in path
                return self._events(events) if streams else self._json(whole)
        return self._json({"error": {"message": "no such thing", "type": "not_found"}}, 404)

    def _misbehave(self, fault: Fault) -> None:
        if fault == "refused":
            self._json({"error": {"type": "invalid_request_error", "message": "\x1b[31mno\x1b[0m", "code": 400}}, 400)
        elif fault == "no json":
            self._send(b"data: {\x00\xff\n\n", "text/event-stream")
        elif fault == "cut":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", "100000")
            self.end_headers()
            self.wfile.write(b'event: message_start\ndata: {"type":"mess')
            self.close_connection = True
        else:
            self._send(b"" if fault == "empty" else b"data: " + b"x" * 5_000_000 + b"\n\n", "text/event-stream")

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", status)

    def _events(self, events: list[Any]) -> None:
        lines = []
        for event in events:
            if isinstance(event, dict) and "type" in event:
                lines.append(f"event: {event['type']}\n")
            lines.append(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
        self._send("".join(lines).encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _anthropic(step: Step, at: int, model: str) -> tuple[Any, list[Any]]:
    block: dict[str, Any] = {"type": "text", "text": step.text}
    delta: dict[str, Any] = {"type": "text_delta", "text": step.text}
    empty: dict[str, Any] = {"type": "text", "text": ""}
    if step.tool:
        block = {"type": "tool_use", "id": f"toolu_{at}", "name": step.tool, "input": dict(step.given)}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(dict(step.given))}
        empty = {**block, "input": {}}
    why = "tool_use" if step.tool else "end_turn"
    usage = {
        "input_tokens": step.tokens,
        "output_tokens": OUT,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    whole = {"id": f"msg_{at}", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}
    whole |= {"content": [block], "stop_reason": why, "usage": usage}
    start = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    return whole, [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": why, "stop_sequence": None},
            "usage": {"output_tokens": OUT},
        },
        {"type": "message_stop"},
    ]


def _responses(step: Step, at: int, model: str) -> tuple[Any, list[Any]]:
    item: dict[str, Any] = {"type": "message", "id": f"msg_{at}", "role": "assistant"}
    item["content"] = [{"type": "output_text", "text": step.text, "annotations": []}]
    if step.tool:
        item = {"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{at}", "name": step.tool}
        item["arguments"] = json.dumps(dict(step.given))
        item |= {"namespace": step.namespace} if step.namespace else {}
    elif step.custom:
        item = {"type": "custom_tool_call", "id": f"ct_{at}", "call_id": f"call_{at}", "name": "apply_patch"}
        item["input"] = step.custom
    elif step.search:
        item = {"type": "tool_search_call", "id": f"ts_{at}", "call_id": f"call_{at}", "execution": "client"}
        item["arguments"] = {"query": step.search}
    usage: dict[str, Any] = {"input_tokens": step.tokens, "output_tokens": OUT, "total_tokens": step.tokens + OUT}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    done = {**item, "status": "completed"}
    whole = {"id": f"resp_{at}", "object": "response", "model": model, "status": "completed"}
    whole |= {"output": [done], "usage": usage}
    return whole, [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": whole},
    ]


def _chat(step: Step, at: int, model: str) -> tuple[Any, list[Any]]:
    message: dict[str, Any] = {"role": "assistant", "content": step.text or None}
    if step.tool:
        call = {"name": step.tool, "arguments": json.dumps(dict(step.given))}
        message["tool_calls"] = [{"index": 0, "id": f"call_{at}", "type": "function", "function": call}]
    why = "tool_calls" if step.tool else "stop"
    usage = {"prompt_tokens": step.tokens, "completion_tokens": OUT, "total_tokens": step.tokens + OUT}
    head = {"id": f"chat_{at}", "created": 1, "model": model}
    whole = {**head, "object": "chat.completion", "usage": usage}
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": why}]
    piece = {**head, "object": "chat.completion.chunk"}
    return whole, [
        json.dumps({**piece, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        json.dumps({**piece, "choices": [{"index": 0, "delta": {}, "finish_reason": why}], "usage": usage}),
        "[DONE]",
    ]


def _gemini(step: Step, at: int, model: str) -> tuple[Any, list[Any]]:
    part: dict[str, Any] = {"text": step.text}
    if step.tool:
        part = {"functionCall": {"id": f"fc_{at}", "name": step.tool, "args": dict(step.given)}}
    whole = {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": step.tokens,
            "candidatesTokenCount": OUT,
            "totalTokenCount": step.tokens + OUT,
        },
        "modelVersion": model,
    }
    return whole, [json.dumps(whole)]


_WIRES = {
    r"/v1/messages$": _anthropic,
    r"/responses$": _responses,
    r"/chat/completions$": _chat,
    r":(stream)?[gG]enerateContent$": _gemini,
}


def _results(body: Mapping[str, Any]) -> int:
    """Return how many results of tools a conversation holds, in whichever format."""
    return sum(1 for item in _items(body) if _is_result(item))


def _is_result(item: Mapping[str, Any]) -> bool:
    kind = str(item.get("type", ""))
    return (
        kind == "tool_result"
        or kind.endswith(("call_output", "search_output"))
        or item.get("role") == "tool"
        or "functionResponse" in item
    )


def _items(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    given = body.get("input")
    turns = [*body.get("messages", []), *body.get("contents", []), *(given if isinstance(given, list) else [])]
    for turn in turns:
        if isinstance(turn, dict):
            yield turn
            inner = turn.get("parts", turn.get("content"))
            yield from (part for part in inner if isinstance(part, dict)) if isinstance(inner, list) else ()


def _tool_names(body: Mapping[str, Any]) -> list[str]:
    names = []
    for tool in body.get("tools") or []:
        for one in tool.get("functionDeclarations", [tool]):
            names.append(str(one.get("name") or one.get("function", {}).get("name") or one.get("type", "")))
    return names


if __name__ == "__main__":
    # By hand: python stub_models.py '[{"tool": "Bash", "given": {"command": "true"}}, {"text": "Done."}]'
    with StubModels(*(Step(**step) for step in json.loads(sys.argv[1]))) as running:
        print(running.address, flush=True)
        sys.stdin.read()
        for asked, content in running.requests:
            print(asked, _tool_names(content), file=sys.stderr)
