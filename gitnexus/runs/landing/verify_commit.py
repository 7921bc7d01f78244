"""Which commits were approved: proved from the commits and the approvers' keys alone. Pure; git is handed in."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from gitnexus.base.errors import VerificationFailed
from gitnexus.base.record import Record
from gitnexus.policy.tokens import Claims
from gitnexus.runs.lineage import Lineage, Use
from gitnexus.runs.message import Trailers, read

# Each costs a signature to check: a message of a million lines must not cost an hour.
MOST_APPROVALS = 1000
CLEAN = "a clean merge, it adds nothing of its own"
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
    # Whoever approved it had not been shown it, and the token says so.
    unseen: bool = False


class Tools(NamedTuple):
    """What verification asks of git: whether a token is an approver's, what a commit changes, what a merge would be.

    `brings_back` says whether a merge has again what a line undid after it had been proved there.
    """

    proved: Callable[[str], Claims]
    patch_id: Callable[[Commit], str]
    clean_merge: Callable[[Commit], str | None]
    brings_back: Callable[[Commit, Use], bool]
    lineage: Lineage
    empty_tree: str


def verified(commits: Iterable[Commit], tools: Tools) -> Iterator[Proof]:
    """Yield a proof for each commit, in one pass; parents come before their children."""
    for commit in commits:
        found = read(commit.message)
        yield _proof(commit, found, tools)
        # What a merge says of approvals uses up none: they are those of the commits that it joins, or of itself alone.
        carried = found is not None and len(commit.parents) < 2
        tools.lineage.add(commit.id, commit.parents, found.approvals[:MOST_APPROVALS] if found and carried else ())


def merge_request(run: str, parents: Sequence[str], tree: str) -> str:
    """Return the digest by which a token approves one merge: of these very commits, with this very tree."""
    import hashlib  # 6 ms, and most commands sign nothing

    return f"sha256:{hashlib.sha256(chr(0).join(('merge', run, *parents, tree)).encode()).hexdigest()}"


def _proof(commit: Commit, found: Trailers | None, tools: Tools) -> Proof:
    if found is None:
        reason = _why_no_merge(commit, tools) if len(commit.parents) > 1 else "it carries no approval"
        status: Standing = "unapproved" if reason else "approved"
        return Proof(commit=commit.id, status=status, reason=reason or CLEAN)
    if len(found.approvals) > MOST_APPROVALS:
        return Proof(commit=commit.id, status="invalid", reason="it carries more approvals than any run has")
    try:
        claims = [tools.proved(token) for token in found.approvals]
    except VerificationFailed as exc:
        return Proof(commit=commit.id, status="invalid", reason=exc.message, run=found.run)
    reason = _why_other(found, claims)
    deciding = None
    if not reason:
        reason, deciding = (_bind_merge if len(commit.parents) > 1 else _bind)(commit, found, claims, tools)
    return Proof(
        commit=commit.id,
        status="approved" if deciding is not None else "invalid",
        reason=reason,
        run=found.run,
        action=deciding.action if deciding else "",
        approver=deciding.approver if deciding else "",
        unseen=deciding is not None and any(claim.unseen for claim in claims),
    )


def _why_other(found: Trailers, claims: list[Claims]) -> str:
    """Return why the claims are not those of one patch of the run that the trailers name; empty if they are."""
    for claim in claims:
        if claim.kind != "patch" or claim.scope != "once":
            return "its token approves something else than one patch"
        if claim.run != found.run or claim.action not in found.actions:
            return "its token belongs to another run or action than its trailers say"
    return ""


def _bind(commit: Commit, found: Trailers, claims: list[Claims], tools: Tools) -> tuple[str, Claims | None]:
    """Return how a claim is bound to what the commit does, and which; None with the reason where none is.

    A token that a commit before this one carried proves nothing again: what it proved may have been undone since.
    """
    uses = [tools.lineage.find_earlier_use(commit.parents, token) for token in found.approvals]
    unused = [claim for claim, use in zip(claims, uses, strict=True) if not use]
    reason, deciding = _bind_claims(commit, unused, tools)
    if deciding is None and len(unused) < len(claims) and _bind_claims(commit, claims, tools)[1] is not None:
        use = next(use for use in uses if use)
        return f"its approval proved this change before, in {use[:12]}; to do it again needs a new one", None
    return reason, deciding


def _bind_claims(commit: Commit, claims: list[Claims], tools: Tools) -> tuple[str, Claims | None]:
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


def _bind_merge(commit: Commit, found: Trailers, claims: list[Claims], tools: Tools) -> tuple[str, Claims | None]:
    """As `_bind`, for a merge: its tree says nothing without all of its parents."""
    request = merge_request(found.run, commit.parents, commit.tree)
    for claim in claims:
        if (claim.request, claim.result) == (request, commit.tree):
            return "it is the very merge that was approved", claim
    reason = _why_no_merge(commit, tools)
    return reason or CLEAN, None if reason else claims[-1]


def _why_no_merge(commit: Commit, tools: Tools) -> str:
    """Return why a merge adds something of its own, empty if it does not: then each side is looked at by itself."""
    if tools.clean_merge(commit) != commit.tree:
        return "it is not what git makes of all its parents, and no approval is for this very merge"
    for use in tools.lineage.find_joined_uses(commit.parents):
        if tools.brings_back(commit, use):
            return f"it brings back what {use.commit[:12]} did and {use.parent[:12]} had undone or changed since"
    return ""
