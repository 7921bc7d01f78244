"""The way through `git nexus tool NAME JSON`: one process a call."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed, Invalid
from gitnexus.conformance.sandbox import FixtureSandbox
from gitnexus.conformance.transport import Caller, ToolAnswer, check_answer

_PATIENCE = 60.0
_LONGEST_ARGUMENT = 100_000  # Linux takes 128 KiB for one argument


class ToolTransport:
    """A transport."""

    name = "tool"

    def __init__(self) -> None:
        self._names: frozenset[str] | None = None  # the same in every repository: asked once

    @asynccontextmanager
    async def open(self, place: FixtureSandbox) -> AsyncIterator[Caller]:
        """Return the caller; nothing has to be started before the first call."""
        caller = _ToolCaller(place, self._names)
        yield caller
        self._names = caller.known


class _ToolCaller:
    def __init__(self, place: FixtureSandbox, known: frozenset[str] | None) -> None:
        self._place = place
        self.known = known

    async def names(self) -> frozenset[str]:
        if self.known is None:
            status, out, err = await self._run_tool("")
            if status != 0:
                raise Failed(f"git nexus tool ends with status {status}: {_first_error_line(err)}")
            self.known = frozenset(line.split()[0].decode() for line in out.splitlines() if line.strip())
        return self.known

    async def call(self, tool: str, params: Mapping[str, Any]) -> ToolAnswer:
        text = json.dumps(params, ensure_ascii=False)
        if len(text) > _LONGEST_ARGUMENT:
            status, out, err = await self._run_tool(text, tool, "-")
        else:
            status, out, err = await self._run_tool("", tool, text)
        try:
            return check_answer(parse_json(out), status != 0)
        except Invalid as exc:
            return ToolAnswer(None, status != 0, f"status {status}, stdout is {exc.message}; {_first_error_line(err)}")

    async def _run_tool(self, text: str, *argv: str) -> tuple[int, bytes, bytes]:
        child = await asyncio.create_subprocess_exec(
            "git",
            "nexus",
            "tool",
            *argv,
            cwd=self._place.repository,
            env=dict(self._place.environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(child.communicate(text.encode("utf-8", "surrogatepass")), _PATIENCE)
        except TimeoutError:
            child.kill()
            await child.wait()
            raise Failed(f"git nexus tool did not answer within {_PATIENCE:.0f} seconds") from None
        return child.returncode or 0, out, err


def _first_error_line(err: bytes) -> str:
    lines = err.decode("utf-8", "replace").strip().splitlines()
    return lines[0] if lines else "nothing on stderr"
