"""A minimal client of our tool server for the scripted agent: JSON-RPC lines on a child's pipes."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from gitnexus.adapters.lines import LINE_LIMIT, as_mapping, mappings_in_list, parse_json_line
from gitnexus.base.errors import Failed

_VERSION = "2025-06-18"


class ToolServer:
    """A server that is started at the first call."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = list(argv)
        self._child: subprocess.Popen[bytes] | None = None
        self._asked = 0

    def call(self, tool: str, given: Mapping[str, Any]) -> tuple[bool, str]:
        """Return whether the tool accepted the call, and its text. Raises: Failed if the server does not answer."""
        if self._child is None:
            self._start_server()
        answer = self._ask_server("tools/call", {"name": tool, "arguments": dict(given)})
        if "error" in answer:
            return False, str(as_mapping(answer["error"]).get("message", ""))
        result = as_mapping(answer.get("result"))
        said = "\n".join(str(item.get("text", "")) for item in mappings_in_list(result.get("content")))
        return result.get("isError") is not True, said

    def close(self) -> None:
        """Close the server's input and wait: a server ends with its client."""
        if self._child is not None:
            self._child.communicate()

    def _start_server(self) -> None:
        if not self._argv:
            raise Failed("there is no tool server to propose to", hint="the run that starts this agent names one")
        try:
            self._child = subprocess.Popen(self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as exc:
            raise Failed(f"the tool server does not start: {exc}") from exc
        client = {"name": "scripted", "version": "1"}
        self._ask_server("initialize", {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": client})
        self._send_message({"method": "notifications/initialized"})

    def _ask_server(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self._send_message({"id": self._asked, "method": method, "params": params})
        assert self._child is not None and self._child.stdout is not None  # noqa: S101 - for the type checker
        while line := self._child.stdout.readline(LINE_LIMIT):
            answer = parse_json_line(line)
            if answer is not None and answer.get("id") == self._asked and "method" not in answer:
                return answer
        raise Failed(f"the tool server closed the connection without answering {method}")

    def _send_message(self, message: Mapping[str, Any]) -> None:
        assert self._child is not None and self._child.stdin is not None  # noqa: S101 - for the type checker
        try:
            self._child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._child.stdin.flush()
        except OSError as exc:
            raise Failed("the tool server closed the connection") from exc
