"""Live conversation with Claude Code: it sends `can_use_tool` before each call. Tested with 2.1.197 and 2.1.325."""

from gitnexus.adapters.claude import ClaudeReader
from gitnexus.adapters.lines import as_mapping, as_single_line, parse_json_line
from gitnexus.adapters.live.protocol import LineOutcome, PendingCall, encode_message
from gitnexus.adapters.protocol import AgentEnd, AgentJob, prompt_text

_FIRST = "nexus-1"


class ClaudeConversation:
    """Answers each `control_request`; all other lines go to the reader of the stream."""

    def __init__(self, job: AgentJob) -> None:
        self._reader = ClaudeReader()
        self._prompt = prompt_text(job)

    def opened(self) -> bytes:
        start = {"type": "control_request", "request_id": _FIRST, "request": {"subtype": "initialize", "hooks": None}}
        user = {"role": "user", "content": self._prompt}
        return encode_message(start) + encode_message(
            {"type": "user", "message": user, "parent_tool_use_id": None, "session_id": ""}
        )

    def feed(self, line: bytes) -> LineOutcome:
        found = parse_json_line(line)
        if found is None or found.get("type") not in ("control_request", "control_response"):
            over = found is not None and found.get("type") == "result"
            return LineOutcome(tuple(self._reader.feed(line)), over=over)
        request, name = as_mapping(found.get("request")), found.get("request_id")
        if found["type"] == "control_response" or not isinstance(name, str):
            return LineOutcome()
        if request.get("subtype") != "can_use_tool":
            error = {"subtype": "error", "request_id": name, "error": "not known here"}
            return LineOutcome(out=encode_message({"type": "control_response", "response": error}))
        question = PendingCall(
            id=name,
            tool=as_single_line(request.get("tool_name")),
            given=as_mapping(request.get("input")),
            call=as_single_line(request.get("tool_use_id")),
        )
        return LineOutcome(asked=(question,))

    def answered(self, asked: PendingCall, *, yes: bool, why: str) -> bytes:
        told = {"behavior": "allow", "updatedInput": dict(asked.given)} if yes else {"behavior": "deny", "message": why}
        response = {"subtype": "success", "request_id": asked.id, "response": told}
        return encode_message({"type": "control_response", "response": response})

    def end(self, status: int) -> AgentEnd:
        return self._reader.end(status)
