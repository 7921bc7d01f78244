"""Claude Code on its stream of messages: `can_use_tool` is asked before each call. Seen with 2.1.197 and 2.1.325."""

from gitnexus.adapters.claude import ClaudeReader
from gitnexus.adapters.lines import mapping, object_in, word
from gitnexus.adapters.live.protocol import Asked, Heard, message
from gitnexus.adapters.protocol import Ended, Job, asked

_FIRST = "nexus-1"


class ClaudeWire:
    """`control_request` is theirs to ask and ours to answer; the rest is the stream that its reader knows."""

    def __init__(self, job: Job) -> None:
        self._reader = ClaudeReader()
        self._prompt = asked(job)

    def opened(self) -> bytes:
        start = {"type": "control_request", "request_id": _FIRST, "request": {"subtype": "initialize", "hooks": None}}
        user = {"role": "user", "content": self._prompt}
        return message(start) + message({"type": "user", "message": user, "parent_tool_use_id": None, "session_id": ""})

    def feed(self, line: bytes) -> Heard:
        found = object_in(line)
        if found is None or found.get("type") not in ("control_request", "control_response"):
            over = found is not None and found.get("type") == "result"
            return Heard(tuple(self._reader.feed(line)), over=over)
        request, name = mapping(found.get("request")), found.get("request_id")
        if found["type"] == "control_response" or not isinstance(name, str):
            return Heard()
        if request.get("subtype") != "can_use_tool":
            error = {"subtype": "error", "request_id": name, "error": "not known here"}
            return Heard(out=message({"type": "control_response", "response": error}))
        question = Asked(
            id=name,
            tool=word(request.get("tool_name")),
            given=mapping(request.get("input")),
            call=word(request.get("tool_use_id")),
        )
        return Heard(asked=(question,))

    def answered(self, asked: Asked, *, yes: bool, why: str) -> bytes:
        told = {"behavior": "allow", "updatedInput": dict(asked.given)} if yes else {"behavior": "deny", "message": why}
        response = {"subtype": "success", "request_id": asked.id, "response": told}
        return message({"type": "control_response", "response": response})

    def end(self, status: int) -> Ended:
        return self._reader.end(status)
