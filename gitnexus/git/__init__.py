"""The one door to git: discovery, objects and refs, hook files, and what must obey the user's own git.

Nobody else imports `pygit2` or `git`. Two implementations of `Objects` stand behind one Protocol: `native` (pygit2,
81 ms to import, then 1 ms a write) for processes that live, `plumbing` (git children, 2 ms each) for those that do not.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.git.discovery import Repo, discover
    from gitnexus.git.objects import Author, Entry, GitFailed, Objects, RefLocked, blob_id, open_objects

__all__ = ["Author", "Entry", "GitFailed", "Objects", "RefLocked", "Repo", "blob_id", "discover", "open_objects"]


def __getattr__(name: str) -> Any:
    """Only who opens a repository needs these: a hook asks git for a few rows and nothing else."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "discovery" if name in ("Repo", "discover") else "objects"
    return getattr(import_module(f"{__name__}.{home}"), name)
