"""Looks for secrets in what the refs of git nexus hold, as an older version or a push by hand may have left them.

Reads objects; changes nothing. What is on a branch, a tag or a remote-tracking branch is code, and not looked at.
"""

import re
import shlex
import time
from collections.abc import Iterator
from typing import NamedTuple

from gitnexus.app.doctor_finding import DoctorFinding
from gitnexus.base.text import one_line
from gitnexus.git import Repo
from gitnexus.git.branches import list_refs
from gitnexus.git.child import run_git
from gitnexus.redaction.hide import redact
from gitnexus.redaction.stored import known_secret_values
from gitnexus.redaction.values import Values
from gitnexus.runs.archive import ARCHIVE, LOGS
from gitnexus.state import STATE_REF, State

# What a plain `doctor` looks at; `doctor --secrets` has no bounds but that of one file.
_SECONDS = 1.0
_MOST_OBJECTS = 500
_LARGEST = "1m"
_AT_ONCE = 200
# Digests, which the names before them make look like secrets (`"token": "sha256:…"`), and the ids of claims and keys.
_OURS = re.compile(rb"(?:sha256|nx):[A-Za-z0-9_-]{43,64}|\"token\": ?\"[0-9a-f-]{16,64}\"")
_MOST_TOLD = 20
_CODE = ("--not", "--branches", "--tags", "--remotes")
_PAGE = "docs/how-to/undo-and-recover.md"


class StoredSecret(NamedTuple):
    """A secret in an object of a ref; `path` is empty for the message of a commit."""

    ref: str
    path: str
    rule: str


def check_stored_secrets(state: State, *, thorough: bool) -> Iterator[DoctorFinding]:
    """Yield a finding for each ref and rule, and one where not everything was looked at."""
    search = _Search(state.repo, thorough)
    told: dict[tuple[str, str], list[str]] = {}
    for secret in search.find():
        told.setdefault((secret.ref, secret.rule), []).append(secret.path)
    for (ref, rule), paths in list(told.items())[:_MOST_TOLD]:
        where = one_line(paths[0], 120) or "the message of a commit"
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        words = f"{one_line(ref, 200)} holds what looks like a secret (rule {rule}), in {where}{more}"
        yield DoctorFinding("secrets", "warning", words, f"rotate it first; {_way_out(ref)}")
    if len(told) > _MOST_TOLD:
        yield DoctorFinding("secrets", "warning", f"and {len(told) - _MOST_TOLD} more refs or rules")
    if search.has_more:
        words = f"looked at {search.seen} objects of refs/nexus, and no secret was in them"
        yield DoctorFinding(
            "secrets",
            "ok",
            words if not told else "not all objects of refs/nexus were looked at",
            "git nexus doctor --secrets looks at all",
        )
    elif not told and thorough:
        yield DoctorFinding("secrets", "ok", f"no secret in {search.seen} objects of refs/nexus")


def _way_out(ref: str) -> str:
    if ref.startswith(LOGS):
        log, folder = shlex.quote(ref), shlex.quote(f".git/nexus/runs/{ref.removeprefix(LOGS)}")
        return f"git update-ref -d {log}, git push REMOTE --delete {log} and rm -r {folder} in every clone"
    return f"{_PAGE} tells how to take it out of the history"


class _Search:
    """A search through the refs, the newest objects first. `has_more` is True if it stopped before the end."""

    def __init__(self, repo: Repo, thorough: bool) -> None:
        self._repo, self._thorough = repo, thorough
        self._until = time.monotonic() + _SECONDS
        self._values: Values | None = None
        self.seen = 0
        self.has_more = False

    def find(self) -> Iterator[StoredSecret]:
        known: set[str] = set()
        listed = list_refs(self._repo, LOGS, ARCHIVE)
        for ref in (STATE_REF, *sorted(listed, key=lambda name: name.rpartition("/")[2], reverse=True)):
            if self._is_over():
                self.has_more = True
                return
            rows = self._objects_of(ref)
            news = [(oid, path) for oid, path in rows if oid not in known]
            known.update(oid for oid, _ in news)
            for at in range(0, len(news), _AT_ONCE):
                if self._is_over():
                    self.has_more = True
                    return
                yield from self._look_at(ref, dict(news[at : at + _AT_ONCE]))

    def _is_over(self) -> bool:
        return not self._thorough and (self.seen >= _MOST_OBJECTS or time.monotonic() > self._until)

    def _objects_of(self, ref: str) -> list[tuple[str, str]]:
        """Return commits, trees and files of a ref, with the paths of files, the newest first."""
        argv = ("rev-list", "--objects", f"--filter=blob:limit={_LARGEST}", ref, *_CODE)
        done = run_git(*argv, git_dir=self._repo.common_dir, seconds=None if self._thorough else 5.0)
        if done.returncode != 0:
            self.has_more = self.has_more or done.returncode == 124
            return []
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        return [(oid, path) for oid, _, path in (line.partition(" ") for line in lines)]

    def _look_at(self, ref: str, paths: dict[str, str]) -> Iterator[StoredSecret]:
        asked = "".join(f"{oid}\n" for oid in paths).encode()
        raw = run_git("cat-file", "--batch", git_dir=self._repo.common_dir, stdin=asked).stdout
        at = 0
        while at < len(raw):
            end = raw.index(b"\n", at)
            oid, kind, *size = raw[at:end].decode("ascii").split()
            if not size:  # it is missing here, as in a partial clone
                at = end + 1
                continue
            data = raw[end + 1 : end + 1 + int(size[0])]
            at = end + int(size[0]) + 2
            if kind == "tree":
                continue
            self.seen += 1
            text = data if kind == "blob" else data.partition(b"\n\n")[2]
            if self._values is None:
                self._values = known_secret_values()
            text = _OURS.sub(b"", text)
            found = (*redact(text, self._values).hidden, *redact(paths[oid]).hidden)
            for rule in sorted({hidden.rule for hidden in found}):
                yield StoredSecret(ref, paths[oid] if kind == "blob" else "", rule)
