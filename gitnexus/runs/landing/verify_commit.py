"""Proves which commits were approved, from the commits and the approvers' keys. Pure; git access is passed in."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from gitnexus.base.errors import VerificationFailed
from gitnexus.base.record import Record
from gitnexus.policy.commit_message import Trailers, parse_trailers
from gitnexus.policy.lineage import ApprovalUse, Lineage
from gitnexus.policy.tokens import TokenClaims

# Limit of tokens per commit: each costs a signature check.
MOST_APPROVALS = 1000
CLEAN = "a clean merge, it adds nothing of its own"
ApprovalStatus = Literal["approved", "unapproved", "invalid"]


class CommitToVerify(NamedTuple):
    """The data of one commit that verification needs; `parent_trees` in the order of its parents."""

    id: str
    tree: str
    parents: tuple[str, ...]
    parent_trees: tuple[str, ...]
    message: str


class Proof(Record):
    """The verification result of a commit, with the reason."""

    commit: str
    status: ApprovalStatus
    reason: str
    run: str = ""
    action: str = ""
    approver: str = ""
    # The approver had not been shown the change, and the token records that.
    unseen: bool = False


class VerificationTools(NamedTuple):
    """Callbacks for verification: token signatures, the change of a commit, the tree of a merge.

    `brings_back` tells whether a merge restores a proved change that was undone on one of its sides.
    """

    proved: Callable[[str], TokenClaims]
    patch_id: Callable[[CommitToVerify], str]
    clean_merge: Callable[[CommitToVerify], str | None]
    brings_back: Callable[[CommitToVerify, ApprovalUse], bool]
    lineage: Lineage
    empty_tree: str


def verify_commits(commits: Iterable[CommitToVerify], tools: VerificationTools) -> Iterator[Proof]:
    """Yield a proof for each commit in one pass; parents must come before children."""
    for commit in commits:
        found = parse_trailers(commit.message)
        yield _prove_commit(commit, found, tools)
        # A merge's trailers use up no approval: they belong to the merged commits, or to the merge alone.
        carried = found is not None and len(commit.parents) < 2
        tools.lineage.add(commit.id, commit.parents, found.approvals[:MOST_APPROVALS] if found and carried else ())


def merge_request_digest(run: str, parents: Sequence[str], tree: str) -> str:
    """Return the digest by which a token approves one merge: its parents and its tree."""
    return f"sha256:{hashlib.sha256(chr(0).join(('merge', run, *parents, tree)).encode()).hexdigest()}"


def _prove_commit(commit: CommitToVerify, found: Trailers | None, tools: VerificationTools) -> Proof:
    if found is None:
        reason = _why_no_merge(commit, tools) if len(commit.parents) > 1 else "it carries no approval"
        status: ApprovalStatus = "unapproved" if reason else "approved"
        return Proof(commit=commit.id, status=status, reason=reason or CLEAN)
    if len(found.approvals) > MOST_APPROVALS:
        return Proof(commit=commit.id, status="invalid", reason="it carries more approvals than any run has")
    try:
        claims = [tools.proved(token) for token in found.approvals]
    except VerificationFailed as exc:
        return Proof(commit=commit.id, status="invalid", reason=exc.message, run=found.run)
    reason = _why_unrelated_claims(found, claims)
    deciding = None
    if not reason:
        reason, deciding = (_bind_merge if len(commit.parents) > 1 else _bind_change)(commit, found, claims, tools)
    return Proof(
        commit=commit.id,
        status="approved" if deciding is not None else "invalid",
        reason=reason,
        run=found.run,
        action=deciding.action if deciding else "",
        approver=deciding.approver if deciding else "",
        unseen=deciding is not None and any(claim.unseen for claim in claims),
    )


def _why_unrelated_claims(found: Trailers, claims: list[TokenClaims]) -> str:
    """Return why the claims do not belong to a patch of the run in the trailers, "" if they do."""
    for claim in claims:
        if claim.kind != "patch" or claim.scope != "once":
            return "its token approves something else than one patch"
        if claim.run != found.run or claim.action not in found.actions:
            return "its token belongs to another run or action than its trailers say"
    return ""


def _bind_change(
    commit: CommitToVerify, found: Trailers, claims: list[TokenClaims], tools: VerificationTools
) -> tuple[str, TokenClaims | None]:
    """Return how a token is bound to the commit's change, and its claims; None with the reason if no token is.

    A token used by an earlier commit proves nothing again: its change may have been undone since.
    """
    uses = [tools.lineage.find_earlier_use(commit.parents, token) for token in found.approvals]
    unused = [claim for claim, use in zip(claims, uses, strict=True) if not use]
    reason, deciding = _bind_claims(commit, unused, tools)
    if deciding is None and len(unused) < len(claims) and _bind_claims(commit, claims, tools)[1] is not None:
        use = next(use for use in uses if use)
        return f"its approval proved this change before, in {use[:12]}; to do it again needs a new one", None
    return reason, deciding


def _bind_claims(
    commit: CommitToVerify, claims: list[TokenClaims], tools: VerificationTools
) -> tuple[str, TokenClaims | None]:
    before = commit.parent_trees[0] if commit.parent_trees else tools.empty_tree
    for claim in claims:
        if (claim.base, claim.result) == (before, commit.tree):
            return "its tree is the one that was approved", claim
    linked = all(one.result == next_.base for one, next_ in pairwise(claims))
    if len(claims) > 1 and linked and (claims[0].base, claims[-1].result) == (before, commit.tree):
        return f"{len(claims)} approved patches make its tree, one after the other", claims[-1]
    if len(commit.parents) == 1 and before != commit.tree:
        patch = tools.patch_id(commit)
        for claim in claims:
            if claim.patch_id and claim.patch_id == patch:
                return "its change is the one that was approved, on another base", claim
    return "what it changes is not what was approved", None


def _bind_merge(
    commit: CommitToVerify, found: Trailers, claims: list[TokenClaims], tools: VerificationTools
) -> tuple[str, TokenClaims | None]:
    """Like `_bind_change` for a merge, whose tree means nothing without all of its parents."""
    request = merge_request_digest(found.run, commit.parents, commit.tree)
    for claim in claims:
        if (claim.request, claim.result) == (request, commit.tree):
            return "it is the very merge that was approved", claim
    reason = _why_no_merge(commit, tools)
    return reason or CLEAN, None if reason else claims[-1]


def _why_no_merge(commit: CommitToVerify, tools: VerificationTools) -> str:
    """Return why a merge adds changes of its own, "" if it does not: then each side is verified separately."""
    if tools.clean_merge(commit) != commit.tree:
        return "it is not what git makes of all its parents, and no approval is for this very merge"
    for use in tools.lineage.find_joined_uses(commit.parents):
        if tools.brings_back(commit, use):
            return f"it brings back what {use.commit[:12]} did and {use.parent[:12]} had undone or changed since"
    return ""
