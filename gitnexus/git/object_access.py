"""Opens the objects and refs of a repository, and is the one place that chooses between pygit2 and git children.

pygit2 takes 80 ms to import and then a tenth of the time of children, so a process that serves or waits (`mcp`, `chat`,
`worker`) chooses it once, when it starts; every other process is a short one.
"""

from typing import Literal

from gitnexus.git.discovery import Repo
from gitnexus.git.objects import Objects
from gitnexus.git.plumbing import PlumbingObjects

Life = Literal["short", "long"]
_process: dict[str, Life] = {"life": "short"}


def choose_pygit2_for_process() -> None:
    """Make this process open repositories with pygit2 from now on, if libgit2 supports their format."""
    _process["life"] = "long"


def open_objects(repo: Repo, life: Life | None = None) -> Objects:
    """Return the `Objects` implementation for the life of this process, or for `life` if that is given."""
    if (life or _process["life"]) == "long":
        from gitnexus.git.native import NativeObjects  # pygit2: 81 ms

        native = NativeObjects.open(repo)
        if native is not None:
            return native
    return PlumbingObjects(repo)
