"""A patch as a deed: from the tree of HEAD to the tree that git makes of it, and into the worktree or onto a branch."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gitnexus.base.errors import DeniedByPolicy, Invalid
from gitnexus.base.text import one_line
from gitnexus.gateway.bench import Bench
from gitnexus.gateway.door import Act
from gitnexus.gateway.landing import refreshed
from gitnexus.gateway.needs import Denied
from gitnexus.gateway.paths import is_reserved, refusals, shaped_refusals
from gitnexus.git.patches import Applied, HiddenFile, applied_in
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import head_of
from gitnexus.git.rows import LINK, TreeChange, targets
from gitnexus.policy.model import Change, PatchRequest, Request


class Refused(Invalid):
    """The patch makes a path or a link that no policy can allow."""


@dataclass(frozen=True, slots=True)
class PatchDeed:
    """A unified diff on HEAD of the bench's worktree. Its bytes are applied as they came, and never masked."""

    bench: Bench
    patch: bytes
    summary: str

    @contextmanager
    def prepared(self) -> Iterator[tuple[Request, Act]]:
        """Apply it in a private place. Raises: Invalid, Conflict, DeniedByPolicy."""
        with private(self.bench.repo) as git:
            done = checked(git, head_of(self.bench.repo, git), self.patch, self.bench.rule_on)
            request = request_of(done, project=self.bench.project, run=self.bench.run, role=self.bench.role)
            git.keep(done.result_tree)  # whoever is asked, here or at another terminal, is shown these very trees
            yield request, lambda: self._landed(git, done)

    def _landed(self, git: PrivateGit, done: Applied) -> dict[str, Any]:
        answer = {
            "base": done.base,
            "resultTree": done.result_tree,
            "files": [{"path": row.path, "change": change_of(row)} for row in done.changes],
            "reserved": [row.path for row in done.changes if row.new_mode and is_reserved(row.path)],
        }
        if self.bench.land is not None:
            return {**answer, **self.bench.land(git, done)}
        refreshed(git, self.bench.worktree, done.changes)
        return answer


def checked(git: PrivateGit, base: str, patch: bytes, rule_on: Denied) -> Applied:
    """Return what a patch makes of `base`, if that is something that may be judged at all.

    Raises: DeniedByPolicy, Refused, Invalid, Conflict.
    """
    try:
        done = applied_in(git, base, patch, lambda path: rule_on(path) is not None)
    except HiddenFile as exc:
        raise _denied(rule_on, str(exc.context["path"]), exc.message) from exc
    for row in done.changes:
        if row.reveals:
            raise _denied(rule_on, row.reveals, f"{one_line(row.path, 80)} would hold what {row.reveals} holds")
    if not done.changes:
        raise Invalid("the patch changes nothing")
    links = {}
    if any(row.new_mode == LINK for row in done.changes):
        entries = [entry for entry in done.present if entry.mode == LINK]
        found = targets(git, (entry.oid for entry in entries))
        links = {entry.path: found[entry.oid] for entry in entries}
    wrong = refusals(done.changes, (entry.path for entry in done.present), links)
    for path, rule, why in chain(wrong, shaped_refusals(git, done.changes)):
        context = {"path": path, "rule": rule, "why": why}
        raise Refused(f"the patch is refused for {one_line(path, 80)!r}: {why}", context=context)
    return done


def request_of(done: Applied, *, project: str, run: str, role: str) -> PatchRequest:
    """Return the request that a token binds: the two trees, and every row between them."""
    rows = (
        Change(
            path=row.path,
            old_mode=row.old_mode,
            new_mode=row.new_mode,
            old_blob=row.old_blob,
            new_blob=row.new_blob,
            link_target=row.link_target,
            binary=row.binary and row.new_mode != "",
        )
        for row in done.changes
    )
    return PatchRequest(
        project=project,
        run=run,
        role=role,
        base=done.base,
        base_tree=done.base_tree,
        result_tree=done.result_tree,
        changes=tuple(rows),
    )


def change_of(row: TreeChange) -> str:
    """Return what happens to a path, in one word."""
    if not row.old_mode:
        return "added"
    if not row.new_mode:
        return "deleted"
    if row.old_mode[:3] != row.new_mode[:3]:
        return "replaced by another kind"
    return "changed" if row.old_blob != row.new_blob else "mode changed"


def _denied(rule_on: Denied, path: str, words: str) -> DeniedByPolicy:
    rule = rule_on(path) or path
    return DeniedByPolicy(
        f"{words}, which {rule} denies",
        hint="no agent reads files that hold credentials",
        context={"path": path, "rule": rule},
    )
