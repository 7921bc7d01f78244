"""Which project a server works for: found once, at the first call."""

import os
import warnings
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio
from mcp.server.session import ServerSession

from gitnexus.app.keepers import open_state
from gitnexus.app.standpoint import chosen
from gitnexus.app.tools import Desk
from gitnexus.base.errors import NexusError
from gitnexus.catalog import Catalog, open_catalog
from gitnexus.cycle import Session
from gitnexus.git import Repo, discover
from gitnexus.git.discovery import disinherit

_PATIENCE = 5


class Project:
    """The desk that the tools work at, opened when it is first needed."""

    def __init__(self, start: Path, harness: str | None) -> None:
        self._start = start
        self.harness = harness or os.environ.get("NEXUS_HARNESS") or "git-nexus"
        self._desk: Desk | None = None

    async def desk(self, client: ServerSession) -> Desk:
        """Return the desk of NEXUS_PROJECT, of the client's first root in a repository, or of the folder."""
        if self._desk is None:
            repo = await self._found(client)
            self._desk = Desk(Session(open_state(repo, "long"), harness=self.harness), "long")
        return self._desk

    async def catalog(self, client: ServerSession) -> Catalog:
        """Return the catalog of the project as it is now, or the one for no project. Raises: Invalid."""
        try:
            state = (await self.desk(client)).session.state
        except NexusError:
            return open_catalog(None, None).catalog
        return open_catalog(state.latest(), state.repo.place, state.trusts).catalog

    async def _found(self, client: ServerSession) -> Repo:
        named = os.environ.get("NEXUS_PROJECT")
        if named:
            disinherit()
            folder = Path(named)
            return discover(folder if folder.is_dir() else Path(chosen(self._start, named).path))
        for root in await _roots(client):
            try:
                return discover(root)
            except NexusError:
                continue
        return discover(self._start, inherit=True)


async def _roots(client: ServerSession) -> list[Path]:
    capabilities = client.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return []
    with warnings.catch_warnings(), anyio.move_on_after(_PATIENCE):
        warnings.simplefilter("ignore")
        told = await client.list_roots()
        return [Path(unquote(urlsplit(str(root.uri)).path)) for root in told.roots]
    return []
