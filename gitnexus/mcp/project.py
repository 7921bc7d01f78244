"""Finds the project that a server works for: once, at the first call, or from the `_meta` of each request.

Up to revision 2025-11-25 a client can be asked for its folders; from 2026-07-28 on, clients are not asked.
"""

import os
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession

from gitnexus.app.tools import ToolSession
from gitnexus.base.errors import NexusError
from gitnexus.catalog import Catalog, open_catalog
from gitnexus.cycle import Session
from gitnexus.git import Repo, discover
from gitnexus.git.discovery import clear_inherited_git_dir
from gitnexus.projects.open_registry import choose_project
from gitnexus.projects.open_state import open_state

# In the `_meta` of a request: a folder, its address, or the name of a registered project.
META = "git-nexus/project"
_PATIENCE = 5
_MOST_SESSIONS = 16
Context = ServerRequestContext[Any, Any]


class ServedProject:
    """The project that the tools work in, opened on first use."""

    def __init__(self, start: Path, harness: str | None) -> None:
        self._start = start
        self.harness = harness or os.environ.get("NEXUS_HARNESS") or "git-nexus"
        self._sessions: dict[str, ToolSession] = {}

    async def tool_session(self, asked: Context) -> ToolSession:
        """Return the session of the project for a request. Raises: NexusError.

        That is the project that the request names, else NEXUS_PROJECT, else the client's first root in a repository if
        the client can be asked for roots, else that of the current folder.
        """
        named = _named(asked)
        if named not in self._sessions:
            repo = self._called(named) if named else await self._find_repository(asked.session)
            if len(self._sessions) >= _MOST_SESSIONS:
                self._sessions.pop(next(iter(self._sessions))).session.state.close()
            self._sessions[named] = ToolSession(Session(open_state(repo), harness=self.harness))
        return self._sessions[named]

    async def catalog(self, asked: Context) -> Catalog:
        """Return the current catalog of the project, or the one for no project. Raises: Invalid."""
        try:
            state = (await self.tool_session(asked)).session.state
        except NexusError:
            return open_catalog(None, None).catalog
        return open_catalog(state.latest(), state.repo.folder, state.trusts).catalog

    def _called(self, named: str) -> Repo:
        """Return the repository that a folder, its address or the name of a project means. Raises: NexusError."""
        clear_inherited_git_dir()
        folder = Path(unquote(urlsplit(named).path) if named.startswith("file://") else named)
        return discover(folder if folder.is_dir() else Path(choose_project(self._start, named).path))

    async def _find_repository(self, client: ServerSession) -> Repo:
        named = os.environ.get("NEXUS_PROJECT")
        if named:
            return self._called(named)
        for root in await _client_root_folders(client):
            try:
                return discover(root)
            except NexusError:
                continue
        return discover(self._start, inherit=True)


def _named(asked: Context) -> str:
    """Return the project that a request names itself, empty if it names none."""
    found = (asked.meta or {}).get(META)
    return found if isinstance(found, str) and "\0" not in found else ""


async def _client_root_folders(client: ServerSession) -> list[Path]:
    capabilities = client.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return []
    with warnings.catch_warnings(), anyio.move_on_after(_PATIENCE):
        warnings.simplefilter("ignore")
        try:
            told = await client.list_roots()
        except MCPError:  # no way to ask from revision 2026-07-28 on; or the client does not answer what it promised
            return []
        return [Path(unquote(urlsplit(str(root.uri)).path)) for root in told.roots]
    return []
