"""The answer of a chat as each interface streams it, in small pieces; made from the body of chat completions."""

import json
from collections.abc import Callable
from typing import Any


def openai(body: bytes, size: int = 7) -> bytes:
    """Server-sent events with deltas."""
    whole = json.loads(body)
    choice = whole["choices"][0]
    message = choice["message"]
    text = message.get("content") or ""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    deltas += [{key: value} for key, value in message.items() if key == "refusal"]
    thoughts = message.get("reasoning_content", "")
    deltas += [{"reasoning_content": thoughts[at : at + size]} for at in range(0, len(thoughts), size)]
    for index, call in enumerate(message.get("tool_calls", ())):
        given = call["function"]["arguments"]
        first = {"id": call["id"], "type": "function", "function": {"name": call["function"]["name"], "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **first}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": given[at : at + size]}}]}
                   for at in range(0, len(given), size)]  # fmt: skip
    rows: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
    rows.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    rows.append({"choices": [], "usage": whole["usage"]})
    return b": ping\n\n" + b"".join(b"data: %s\n\n" % json.dumps(row).encode() for row in rows) + b"data: [DONE]\n\n"


def _parts(body: bytes, size: int) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the pieces of the text, and the calls."""
    message = json.loads(body)["choices"][0]["message"]
    text = message.get("content") or ""
    calls = [{"id": one["id"], "name": one["function"]["name"], "arguments": json.loads(one["function"]["arguments"])}
             for one in message.get("tool_calls", ())]  # fmt: skip
    return [text[at : at + size] for at in range(0, len(text), size)], calls


def ollama(body: bytes, size: int = 7) -> bytes:
    """A JSON value in each line."""
    texts, calls = _parts(body, size)
    rows: list[dict[str, Any]] = [{"message": {"role": "assistant", "content": one}, "done": False} for one in texts]
    rows += [{"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {
        "name": one["name"], "arguments": one["arguments"]}}]}, "done": False} for one in calls]  # fmt: skip
    rows.append({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop",
                 "prompt_eval_count": 100, "eval_count": 20})  # fmt: skip
    return b"".join(json.dumps({"model": "m", **row}).encode() + b"\n" for row in rows)


def anthropic(body: bytes, size: int = 7) -> bytes:
    """Events with blocks."""
    texts, calls = _parts(body, size)
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 1}}  # fmt: skip
    rows: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    index = 0
    if texts:
        rows.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        rows += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": one}}
                 for one in texts]  # fmt: skip
        rows.append({"type": "content_block_stop", "index": 0})
        index = 1
    for at, call in enumerate(calls, index):
        block = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}
        given = json.dumps(call["arguments"])
        rows.append({"type": "content_block_start", "index": at, "content_block": block})
        rows += [{"type": "content_block_delta", "index": at,
                  "delta": {"type": "input_json_delta", "partial_json": given[part : part + size]}}
                 for part in range(0, len(given), size)]  # fmt: skip
        rows.append({"type": "content_block_stop", "index": at})
    ended = "tool_use" if calls else "end_turn"
    rows.append({"type": "message_delta", "delta": {"stop_reason": ended, "stop_sequence": None},
                 "usage": {"output_tokens": 20}})  # fmt: skip
    rows.append({"type": "message_stop"})
    return b"".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n".encode() for row in rows)


def gemini(body: bytes, size: int = 7) -> bytes:
    """Events with candidates."""
    texts, calls = _parts(body, size)
    parts: list[dict[str, Any]] = [{"text": one} for one in texts]
    parts += [{"functionCall": {"name": one["name"], "args": one["arguments"]}} for one in calls]
    rows: list[dict[str, Any]] = [
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [one]}}]} for one in parts
    ]
    rows.append({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": ""}]},
                                 "finishReason": "STOP"}]})  # fmt: skip
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    rows = [{**row, "usageMetadata": usage, "modelVersion": "m", "responseId": "r"} for row in rows]
    return b"".join(f"data: {json.dumps(row)}\r\n\r\n".encode() for row in rows)


FORMS: dict[str, Callable[..., bytes]] = {
    "openai": openai,
    "ollama": ollama,
    "anthropic": anthropic,
    "gemini": gemini,
}
