"""Which commits were approved: proved from the commits and the approvers' keys alone. Pure; git is handed in."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from gitnexus.base.errors import VerificationFailed
from gitnexus.base.record import Record
from gitnexus.policy.tokens import Claims
from gitnexus.runs.message import Trailers, read

# Each costs a signature to check: a message of a million lines must not cost an hour.
MOST_APPROVALS = 1000
Standing = Literal["approved", "unapproved", "invalid"]


class Commit(NamedTuple):
    """What is needed of one commit; `parent_trees` in the order of its parents."""

    id: str
    tree: str
    parents: tuple[str, ...]
    parent_trees: tuple[str, ...]
    message: str


class Proof(Record):
    """What is known of a commit, and why."""

    commit: str
    status: Standing
    reason: str
    run: str = ""
    action: str = ""
    approver: str = ""


class Tools(NamedTuple):
    """What verification asks: whether a token is an approver's, what a commit changes, what a merge would be."""

    proved: Callable[[str], Claims]
    patch_id: Callable[[Commit], str]
    clean_merge: Callable[[Commit], str | None]
    empty_tree: str


def verified(commits: Iterable[Commit], tools: Tools) -> Iterator[Proof]:
    """Yield a proof for each commit, in one pass."""
    for commit in commits:
        yield _proof(commit, tools)


def _proof(commit: Commit, tools: Tools) -> Proof:
    found = read(commit.message)
    if found is None:
        return _merge(commit, tools) or Proof(commit=commit.id, status="unapproved", reason="it carries no approval")
    if len(found.approvals) > MOST_APPROVALS:
        return Proof(commit=commit.id, status="invalid", reason="it carries more approvals than any run has")
    try:
        claims = [tools.proved(token) for token in found.approvals]
    except VerificationFailed as exc:
        return Proof(commit=commit.id, status="invalid", reason=exc.message, run=found.run)
    reason, deciding = _bound(commit, found, claims, tools)
    return Proof(
        commit=commit.id,
        status="approved" if deciding is not None else "invalid",
        reason=reason,
        run=found.run,
        action=deciding.action if deciding else "",
        approver=deciding.approver if deciding else "",
    )


def _bound(commit: Commit, found: Trailers, claims: list[Claims], tools: Tools) -> tuple[str, Claims | None]:
    """Return which claim is bound to what the commit does, and how; None with the reason where none is."""
    for claim in claims:
        if claim.kind != "patch" or claim.scope != "once":
            return "its token approves something else than one patch", None
        if claim.run != found.run or claim.action not in found.actions:
            return "its token belongs to another run or action than its trailers say", None
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


def _merge(commit: Commit, tools: Tools) -> Proof | None:
    """A merge that git makes by itself adds nothing to what is merged; each side is looked at by itself."""
    if len(commit.parents) < 2 or tools.clean_merge(commit) != commit.tree:
        return None
    return Proof(commit=commit.id, status="approved", reason="a clean merge, it adds nothing of its own")
