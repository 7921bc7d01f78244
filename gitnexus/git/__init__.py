"""All access to git: finding repositories, objects and refs, hook files, and commands run with the user's own git.

No other room imports `pygit2` or `git`. The `Objects` protocol has two implementations: `native` (pygit2: 81 ms to
import, then 1 ms a write) for long-lived processes, and `plumbing` (git children, 2 ms each) for short ones.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.git.discovery import Repo, discover
    from gitnexus.git.object_access import open_objects
    from gitnexus.git.objects import Author, Entry, GitFailed, Objects, RefLocked, blob_id

__all__ = ["Author", "Entry", "GitFailed", "Objects", "RefLocked", "Repo", "blob_id", "discover", "open_objects"]
_HOMES = {"Repo": "discovery", "discover": "discovery", "open_objects": "object_access"}


def __getattr__(name: str) -> Any:
    """Import these names on first access: a hook that reads a few rows does not need them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'objects')}"), name)
