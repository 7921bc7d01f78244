"""`git nexus tool NAME JSON` in a process that is forked, as all tests run commands, and not started from nothing."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gitnexus.conformance.sandbox import FixtureSandbox
from gitnexus.conformance.toolcommand import ToolTransport, _ToolCaller
from gitnexus.conformance.transport import Caller
from tests.conftest import Nexus


class ForkedTool(ToolTransport):
    """A transport."""

    @asynccontextmanager
    async def open(self, place: FixtureSandbox) -> AsyncIterator[Caller]:
        caller = _ForkedCaller(place, self._names)
        yield caller
        self._names = caller.known


class _ForkedCaller(_ToolCaller):
    async def _run_tool(self, text: str, *argv: str) -> tuple[int, bytes, bytes]:
        return await asyncio.to_thread(self._forked, text, argv)

    def _forked(self, text: str, argv: tuple[str, ...]) -> tuple[int, bytes, bytes]:
        ours = dict(os.environ)
        try:
            os.environ.clear()
            os.environ.update(self._place.environment)
            done = Nexus(Path(self._place.repository))("tool", *argv, stdin=text)
        finally:
            os.environ.clear()
            os.environ.update(ours)
        return done.returncode, done.stdout.encode(), done.stderr.encode()
