"""Reads the lines of an MCP client, limited in size, and answers each invalid line with an error."""

import contextlib
import fcntl
import json
import os
import re
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
from anyio import to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from gitnexus.base.text import one_line

# A patch in JSON, and room to spare.
LONGEST_LINE = 16 * 1024 * 1024
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_WHOLE_NUMBER = re.compile(r"-?\d{1,15}")


async def serve_lines(server: Server[Any]) -> None:
    """Serve standard input and output until the client closes them."""
    await _LineTransport(_take_over_stdin()).serve(server)


class _LineTransport:
    def __init__(self, number: int) -> None:
        self._number = number
        self._writer: Any = None

    async def serve(self, server: Server[Any]) -> None:
        async with stdio_server(stdin=cast(Any, self._iterate_messages())) as (reader, writer):
            self._writer = writer
            await server.run(reader, writer, server.create_initialization_options())

    async def _iterate_messages(self) -> AsyncIterator[str]:
        """Yield the lines that are valid messages, and answer the others."""
        with os.fdopen(self._number, "rb") as source:
            while line := await to_thread.run_sync(source.readline, LONGEST_LINE, abandon_on_cancel=True):
                refusal = None
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    refusal = _error_message(
                        None, types.INVALID_REQUEST, f"a line is longer than {LONGEST_LINE // 2**20} MiB"
                    )
                    while line and not line.endswith(b"\n"):
                        line = await to_thread.run_sync(source.readline, LONGEST_LINE, abandon_on_cancel=True)
                text = line.decode("utf-8", "replace")
                refusal = refusal or refusal_for_line(text)
                if refusal is not None:
                    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                        await self._writer.send(SessionMessage(refusal))
                elif text.strip():
                    yield text


def refusal_for_line(line: str) -> types.JSONRPCError | None:
    """Return the answer to a line that is not a message of the protocol; None for a valid or empty line."""
    if not line.strip():
        return None
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        # An id of another kind would be passed over, and the request taken for one that wants no answer.
        if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(line):
            return _error_message(
                None, types.INVALID_REQUEST, "this is not a message: its id is neither a whole number nor text"
            )
    except (ValueError, RecursionError) as exc:  # a ValidationError is one of the first
        errors = cast(Any, exc).errors() if hasattr(exc, "errors") else []
        kinds = [str(one.get("type", "")) for one in errors]
        code = types.PARSE_ERROR if not errors or "json_invalid" in kinds else types.INVALID_REQUEST
        words = str(errors[0].get("msg", "")) if errors else str(exc)
        return _error_message(find_request_id(line), code, f"this is not a message: {one_line(words, 200)}")
    return None


def find_request_id(line: str) -> int | str | None:
    """Return the id of a request, also if the rest of it cannot be parsed; else None."""
    depth, before = 0, ("", "")
    for found in _TOKEN.finditer(line):
        piece = found[0]
        if depth == 1 and before == ('"id"', ":"):
            return _parse_request_id(piece)
        depth += (piece in "{[") - (piece in "}]")
        before = (before[1], piece)
    return None


def _parse_request_id(piece: str) -> int | str | None:
    if _WHOLE_NUMBER.fullmatch(piece):
        return int(piece)
    try:
        value = json.loads(piece) if piece.startswith('"') else None
        return value if isinstance(value, str) and value.encode() else None
    except ValueError:  # half a character, or a control one
        return None


def _error_message(request: int | str | None, code: int, words: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request, error=types.ErrorData(code=code, message=words))


def _take_over_stdin() -> int:
    """Return standard input under another descriptor, so that child processes inherit an empty one."""
    found = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return found
