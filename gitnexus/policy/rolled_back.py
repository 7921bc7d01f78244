"""Finds signed files of the state that a commit put back to an older version, in history that a clone is to take in.

Whoever may push can commit an old policy, with its old signature, on top of the newer one. A clone that has only seen
the older one would find it unchanged. The newer version lies in the history that it fetches, and is returned.
"""

import contextlib
from collections.abc import Callable, Iterator

from gitnexus.base.clock import is_future, utc_now
from gitnexus.base.errors import NexusError
from gitnexus.git import Objects, Repo
from gitnexus.git.child import run_git_or_raise
from gitnexus.policy import approvers as chain
from gitnexus.policy import signed

ReadFile = Callable[[str], bytes | None]
# Nobody signs so often between two syncs; `doctor` reads the whole history and reports the rest.
_MOST_COMMITS = 1000
_LARGEST = 4 * 2**20


def newer_signed_files(
    repo: Repo, objects: Objects, span: tuple[str, str], read: ReadFile, project: str
) -> dict[str, bytes]:
    """Return the newest signed content of each file that is older in the result of a sync, empty where none is.

    `span` is the commit that is here and the one that is taken in, `read` reads a file as the sync would leave it.
    """
    earlier = list(_earlier_contents(repo, objects, span))
    held = read(chain.FILE)
    if not earlier or held is None:
        return {}
    found: dict[str, bytes] = {}
    with contextlib.suppress(NexusError):  # an invalid list is reported elsewhere, and trusts nobody
        longest = _longest_chain(held, (raw for path, raw in earlier if path == chain.FILE), project)
        approvers = chain.verify_chain(longest, project)
        if longest != held:
            found[chain.FILE] = longest
        found |= _newest_signatures(objects, approvers, read, (raw for path, raw in earlier if path == signed.FILE))
    return found


def _earlier_contents(repo: Repo, objects: Objects, span: tuple[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the lists and signatures in the commits of `span`, each content once."""
    since, until = span
    asked = ("log", "--full-history", f"--max-count={_MOST_COMMITS}", "--format=%H", f"{since}..{until}", "--")
    commits = run_git_or_raise(*asked, chain.FILE, signed.FILE, git_dir=repo.common_dir).decode("ascii").split()
    if not commits:
        return
    rows = [(commit, path) for commit in commits for path in (chain.FILE, signed.FILE)]
    listed = "".join(f"{commit}:{path}\n" for commit, path in rows).encode()
    told = run_git_or_raise(
        "cat-file", "--batch-check=%(objecttype) %(objectname) %(objectsize)", git_dir=repo.common_dir, stdin=listed
    )
    seen: set[str] = set()
    for (_, path), line in zip(rows, told.decode("ascii", "replace").splitlines(), strict=True):
        kind, oid, size = (*line.split(), "", "")[:3]
        if kind == "blob" and oid not in seen and int(size) <= _LARGEST:
            seen.add(oid)
            yield path, objects.blob(oid)


def _longest_chain(held: bytes, others: Iterator[bytes], project: str) -> bytes:
    """Return the longest list of approvers that continues `held`, with every entry verified."""
    longest = held
    for raw in others:
        with contextlib.suppress(NexusError):
            entries, count = chain.parse_chain(raw), len(chain.parse_chain(longest))
            if len(entries) > count and entries[:count] == chain.parse_chain(longest):
                chain.verify_chain(raw, project)
                longest = raw
    return longest


def _newest_signatures(
    objects: Objects, approvers: chain.Approvers, read: ReadFile, others: Iterator[bytes]
) -> dict[str, bytes]:
    """Return each file that was signed later than what is held, and the file of signatures that fits."""
    held = signed.parse_signatures(read(signed.FILE))
    newest, files, today = dict(held), dict[str, bytes](), utc_now()
    for raw in others:
        with contextlib.suppress(NexusError):
            for path, entry in signed.parse_signatures(raw).items():
                known = newest.get(path)
                if (known is not None and entry.at <= known.at) or is_future(entry.at, today):
                    continue
                with contextlib.suppress(NexusError):
                    signed.refuse_unproved(entry, approvers.project, path, approvers)
                    content = objects.blob(entry.blob)
                    if signed.content_digest(content) == entry.digest:
                        newest[path], files[path] = entry, content
    return {**files, signed.FILE: signed.render_signatures(newest)} if files else {}
