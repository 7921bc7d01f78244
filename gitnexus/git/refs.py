"""Reads refs from their files as git does, loose before packed. Anything else is read through a git child."""

import contextlib
from pathlib import Path

from gitnexus.git.child import run_git
from gitnexus.git.discovery import Repo

_HEX = frozenset("0123456789abcdef")
_BRANCHES = "ref: refs/heads/"
# The content of HEAD if refs are stored in another format.
_REFTABLE = ".invalid"


def read_loose_ref(common_dir: Path, ref: str) -> str:
    """Return the text of a ref's own file, empty if it has none: an id, or `ref: ` and another ref's name."""
    try:
        return (common_dir / ref).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def read_tip(common_dir: Path, ref: str, object_format: str) -> str | None:
    """Return the object that a ref points to, or None if it does not exist."""
    digits = 64 if object_format == "sha256" else 40
    loose = read_loose_ref(common_dir, ref)
    if len(loose) == digits and set(loose) <= _HEX:
        return loose
    if not (common_dir / ref).exists() and not (common_dir / "reftable").exists():
        return _read_packed_ref(common_dir, ref, digits)
    # rev-parse and cat-file would also find refs/heads/<ref>: an agent could plant one.
    shown = run_git("show-ref", "--verify", "--hash", "--", ref, git_dir=common_dir)
    return shown.stdout.decode().strip() or None if shown.returncode == 0 else None


def read_head_branch(git_dir: Path) -> str | None:
    """Return the branch that is checked out, empty for none, None if git has to be asked."""
    head = read_loose_ref(git_dir, "HEAD")
    if head.startswith(_BRANCHES) and not head.endswith(_REFTABLE) and head.isprintable():
        return head.removeprefix(_BRANCHES)
    return "" if len(head) in (40, 64) and set(head) <= _HEX else None


def plain_head_commit(repo: Repo) -> str | None:
    """Return the commit that HEAD points to, read from its files; None if git has to be asked."""
    branch = read_head_branch(repo.git_dir)
    if branch is None or (repo.common_dir / "reftable").is_dir():
        return None
    # Git lets a branch name nothing but a commit.
    return read_tip(repo.common_dir, f"refs/heads/{branch}", repo.object_format) if branch else None


def _read_packed_ref(common_dir: Path, ref: str, digits: int) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        packed = (common_dir / "packed-refs").read_bytes()
        at = packed.find(b" %s\n" % ref.encode("utf-8", "surrogateescape"))
        if at >= 0:
            return packed[at - digits : at].decode("ascii")
    return None
