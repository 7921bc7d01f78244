"""Computes the id of a change: the same wherever the change is applied, different if any byte of it differs.

It is the digest of the diff of two trees as text, without line numbers and blob ids; binary files count by their blob
ids. Unlike `git patch-id`, whitespace counts and no configuration has an influence.
"""

import contextlib
import hashlib
import re
import subprocess
from collections.abc import Iterator

from gitnexus.base.errors import Invalid
from gitnexus.git.diff_text import read_difference
from gitnexus.git.private import PrivateGit

# Everything that a default or a config could change is said. No rename is looked for: how like two files must be to
# count as one differs between versions.
_DIFF = (
    "diff-tree", "--stdin", "-r", "-p", "-U3", "--inter-hunk-context=0", "--diff-algorithm=myers",
    "--no-indent-heuristic", "--no-renames", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
    "--submodule=short", "--ignore-submodules=none", "--src-prefix=a/", "--dst-prefix=b/", "--no-relative",
)  # fmt: skip
_VERSION = b"git-nexus patch v1\0"
_TREE = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class PatchIds:
    """One git child that computes the ids of any number of changes; created by `patch_ids`."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self._child = child

    def of(self, old: str, new: str) -> str:
        """Return the id of the change from one tree to another, empty if nothing differs. Raises: GitFailed."""
        if not (_TREE.fullmatch(old) and _TREE.fullmatch(new)):
            raise Invalid("a change is named by two whole ids of trees")
        if old == new:
            return ""
        digest = hashlib.sha256(_VERSION)
        for line in _lines_without_positions(read_difference(self._child, old, new)):
            digest.update(line)
        return f"sha256:{digest.hexdigest()}"


@contextlib.contextmanager
def patch_ids(git: PrivateGit) -> Iterator[PatchIds]:
    """Start the git child, and end it afterwards."""
    with git.started(*_DIFF) as child:
        try:
            yield PatchIds(child)
        finally:
            child.kill()


def patch_id(git: PrivateGit, old: str, new: str) -> str:
    """Return the id of one change, empty if nothing differs. Raises: GitFailed."""
    with patch_ids(git) as ids:
        return ids.of(old, new)


def _lines_without_positions(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Drop lines that only give positions. No content line begins like these: each has a +, - or blank before it."""
    blobs = b""
    for line in lines:
        if line.startswith(b"@@ "):
            yield b"@@\n"
        elif line.startswith(b"index "):
            blobs = line.split(b" ")[1].strip() + b"\n"
        elif line.startswith(b"Binary files "):
            yield b"binary " + blobs
        else:
            yield line
