"""Plan, tasks and the knowledge files as resources that a client can read."""

from mcp import types

from gitnexus.app.tools import Desk
from gitnexus.base.errors import NotFound

_SCHEME = "nexus://"
_ROOMS = {"memory": "a note that agents keep", "context": "how the project works", "rules": "advice of its people"}
_SESSION = {"plan": "The open plan.", "tasks": "The tasks of this cycle."}
_JSON, _MARKDOWN = "application/json", "text/markdown"


def listed(desk: Desk) -> list[types.Resource]:
    """Return everything there is to read now."""
    found = [
        types.Resource(uri=_SCHEME + name, name=name, description=words, mime_type=_JSON)
        for name, words in _SESSION.items()
    ]
    snapshot = desk.session.state.latest()
    for room, words in _ROOMS.items():
        for name in snapshot.names(room):
            path = f"{room}/{name}"
            found.append(types.Resource(uri=_SCHEME + path, name=path, description=words, mime_type=_MARKDOWN))
    return found


def read(desk: Desk, uri: str) -> types.TextResourceContents:
    """Return one resource. Raises: NotFound."""
    name = uri.removeprefix(_SCHEME)
    session = desk.session
    if name in _SESSION:
        record = session.plan() if name == "plan" else session.tasks()
        text = record.to_bytes().decode() if record else "null\n"
        return types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)
    raw = session.state.latest().read(name) if name.split("/")[0] in _ROOMS else None
    if raw is None:
        raise NotFound(f"there is no resource {uri}")
    return types.TextResourceContents(uri=uri, mime_type=_MARKDOWN, text=raw.decode("utf-8", "replace"))
