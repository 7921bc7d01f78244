"""The one door to git: discovery, objects and refs, hook files, and what must obey the user's own git.

Nobody else imports `pygit2` or `git`. Two implementations of `Objects` stand behind one Protocol: `native` (pygit2,
81 ms to import, then 1 ms a write) for processes that live, `plumbing` (git children, 2 ms each) for those that do not.
"""

from gitnexus.git.discovery import Repo, discover
from gitnexus.git.objects import Author, Entry, GitFailed, Objects, RefLocked, blob_id, open_objects

__all__ = ["Author", "Entry", "GitFailed", "Objects", "RefLocked", "Repo", "blob_id", "discover", "open_objects"]
