"""`PatchAction`: computes the tree that a patch makes of HEAD, and applies it to the worktree."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid
from gitnexus.base.text import one_line
from gitnexus.gateway.apply_to_worktree import apply_changes
from gitnexus.gateway.dialects import edits_of_sections, is_exact_diff, parse_sections
from gitnexus.gateway.dialects.model import FileSection
from gitnexus.gateway.dialects.place import UnclearPlace
from gitnexus.gateway.execute import Act
from gitnexus.gateway.paths import is_reserved, patch_refusals, repository_refusals
from gitnexus.gateway.protocols import Denied
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.git.merging import patch_between
from gitnexus.git.patches import AppliedPatch, FileEdit, HiddenFile, apply_edits_in, apply_patch_in
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import resolve_head
from gitnexus.git.tree_diff import LINK, TreeChange, TreeEntry, link_targets
from gitnexus.policy.model import PatchRequest, PatchRow, Request


class PatchRefused(Invalid):
    """Raised if the patch creates a path or a link that no policy can allow."""


@dataclass(frozen=True, slots=True)
class PatchAction:
    """A unified diff against HEAD of the context's worktree. Its bytes are applied unchanged and never masked."""

    context: ToolContext
    patch: bytes
    summary: str

    @contextmanager
    def prepared(self) -> Iterator[tuple[Request, Act]]:
        """Apply it in a private git. Raises: Invalid, Conflict, DeniedByPolicy."""
        with private_git(self.context.repo) as git:
            done = check_patch(git, resolve_head(self.context.repo, git), self.patch, self.context.rule_on)
            request = make_patch_request(
                done, project=self.context.project, run=self.context.run, role=self.context.role
            )
            git.keep(done.result_tree)  # the approver sees these trees, on any terminal
            yield request, lambda: self._apply_to_worktree(git, done)

    def _apply_to_worktree(self, git: PrivateGit, applied: AppliedPatch) -> dict[str, Any]:
        apply_changes(git, self.context.worktree, applied.changes)
        return {
            "base": applied.base,
            "resultTree": applied.result_tree,
            "files": [{"path": row.path, "change": change_word(row)} for row in applied.changes],
            "reserved": [row.path for row in applied.changes if row.new_mode and is_reserved(row.path)],
        }


def check_patch(git: PrivateGit, base: str, patch: bytes, rule_on: Denied) -> AppliedPatch:
    """Return the result of a patch on `base`, if it can be judged at all.

    Raises: DeniedByPolicy, PatchRefused, Invalid, Conflict.
    """
    try:
        done = apply_patch_in(git, base, patch, lambda path: rule_on(path) is not None)
    except HiddenFile as exc:
        raise _denial_error(rule_on, str(exc.context["path"]), exc.message) from exc
    for row in done.changes:
        if row.reveals:
            raise _denial_error(rule_on, row.reveals, f"{one_line(row.path, 80)} would hold what {row.reveals} holds")
    if not done.changes:
        raise Invalid("the patch changes nothing")
    links = {}
    if any(row.new_mode == LINK for row in done.changes):
        entries = [entry for entry in done.present if entry.mode == LINK]
        found = link_targets(git, (entry.oid for entry in entries))
        links = {entry.path: found[entry.oid] for entry in entries}
    wrong = patch_refusals(done.changes, (entry.path for entry in done.present), links)
    for path, rule, why in chain(wrong, repository_refusals(git, done.changes)):
        context = {"path": path, "rule": rule, "why": why}
        raise PatchRefused(f"the patch is refused for {one_line(path, 80)!r}: {why}", context=context)
    return done


def check_any_patch(git: PrivateGit, base: str, text: bytes, rule_on: Denied) -> AppliedPatch:
    """Return the result of a change in any form that models write: see `dialects`. Nothing is guessed.

    A diff that git can apply unchanged is applied by git. Anything else, such as a diff with wrong line numbers, is
    parsed here; it has to fit exactly one position. Raises: as `check_patch`.
    """
    words = text.decode("utf-8", "surrogateescape")
    if not is_exact_diff(words):
        return _check_sections(git, base, parse_sections(words), rule_on)
    try:
        done = check_patch(git, base, text, rule_on)
    except PatchRefused:
        raise
    except (Invalid, Conflict) as exc:
        try:
            return _check_sections(git, base, parse_sections(words), rule_on)
        except PatchRefused:
            raise
        except Invalid:
            raise exc from None  # git said it better
    try:
        _check_sections(git, base, parse_sections(words), rule_on)
    except UnclearPlace:
        raise  # git takes the nearest of several places
    except (Invalid, Conflict, DeniedByPolicy):
        pass  # modes, binary files and the like: git alone reads them
    return done


def _check_sections(git: PrivateGit, base: str, sections: Sequence[FileSection], rule_on: Denied) -> AppliedPatch:
    """Return the result of sections that were read from a text. Raises: as `check_patch`."""

    def make_edits(files: Mapping[str, TreeEntry], read: Callable[[str], bytes]) -> list[FileEdit]:
        return edits_of_sections(sections, {path: entry.mode for path, entry in files.items()}, read)

    done = apply_edits_in(git, base, make_edits, lambda path: rule_on(path) is not None)
    if not done.changes:
        raise Invalid("the patch changes nothing")
    # From here on it is a patch like any other, written by git itself.
    return check_patch(git, base, patch_between(git, done.base_tree, done.result_tree), rule_on)


def make_patch_rows(changes: Iterable[TreeChange]) -> tuple[PatchRow, ...]:
    """Return the changed rows of a tree as a request and its token have them."""
    return tuple(
        PatchRow(
            path=row.path,
            old_mode=row.old_mode,
            new_mode=row.new_mode,
            old_blob=row.old_blob,
            new_blob=row.new_blob,
            link_target=row.link_target,
            binary=row.binary and row.new_mode != "",
        )
        for row in changes
    )


def make_patch_request(applied: AppliedPatch, *, project: str, run: str, role: str) -> PatchRequest:
    """Return the request that a token binds: the two trees and every changed row."""
    return PatchRequest(
        project=project,
        run=run,
        role=role,
        base=applied.base,
        base_tree=applied.base_tree,
        result_tree=applied.result_tree,
        changes=make_patch_rows(applied.changes),
    )


def change_word(row: TreeChange) -> str:
    """Return the kind of change to a path in one word."""
    if not row.old_mode:
        return "added"
    if not row.new_mode:
        return "deleted"
    if row.old_mode[:3] != row.new_mode[:3]:
        return "replaced by another kind"
    return "changed" if row.old_blob != row.new_blob else "mode changed"


def _denial_error(rule_on: Denied, path: str, words: str) -> DeniedByPolicy:
    rule = rule_on(path) or path
    return DeniedByPolicy(
        f"{words}, which {rule} denies",
        hint="no agent reads files that hold credentials",
        context={"path": path, "rule": rule},
    )
