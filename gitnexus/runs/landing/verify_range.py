"""Verifies a range of commits against the approvers' keys, and resumes from the last verified commit."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Invalid, NexusError, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.git import Repo, config
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.commits import (
    CommitRange,
    CommitRow,
    iterate_commits,
    messages_containing,
    parse_commit_range,
    trees_before_and_after,
)
from gitnexus.git.intact_change import is_change_intact
from gitnexus.git.merging import clean_merge_of_all, count_lost_commits
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import EMPTY_TREE, PrivateGit, private_git
from gitnexus.git.revisions import head_branch_ref, resolve_commit, resolve_head
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.commit_message import APPROVAL
from gitnexus.policy.commit_message import parse_trailers as read_trailers
from gitnexus.policy.lineage import ApprovalUse, Lineage, approval_key
from gitnexus.policy.pins import remember_project
from gitnexus.policy.seen import format_root, parse_root, refuse_unpinned
from gitnexus.policy.signed import SignedFiles, content_digest
from gitnexus.policy.tokens import verify_token
from gitnexus.policy.witness import Testimony, hear_commits, hear_state
from gitnexus.runs.landing import verified_upto
from gitnexus.runs.landing.verify_commit import MOST_APPROVALS, CommitToVerify, Proof, VerificationTools, verify_commits
from gitnexus.state import State
from gitnexus.state.format import project_id_of

# Number of last commits to verify if nothing is ahead of the upstream.
LAST = 100
_LARGEST = 2**20
# Number of newest commits searched for the length of the approver list, unless a shortened one is an error.
_LISTENED = 1000
_OPEN = "it cannot be ruled out that the list of approvers is older than it was"


@dataclass(frozen=True, slots=True)
class LostCommits:
    """A range A..B whose end does not descend from its start: `count` commits of `start` are missing from it.

    That is usual for a branch to be merged; in a push it would drop them.
    """

    start: str
    count: int
    refused: bool


@dataclass(frozen=True, slots=True)
class RangeVerification:
    """The result; `since` is the commit verified earlier, `tip` the end of this pass.

    `lost` is set if the range goes back from its start; `notes` lists what could not be ruled out.
    """

    proofs: list[Proof]
    tip: str
    since: str
    root: str
    strict: bool
    lost: LostCommits | None = None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if the command need not fail."""
        return not self.wrong and not (self.lost is not None and self.lost.refused)

    @property
    def wrong(self) -> list[Proof]:
        """The commits for which the command fails."""
        bad = ("invalid", "unapproved") if self.strict else ("invalid",)
        return [proof for proof in self.proofs if proof.status in bad]


def approvers_for(state: State, file: Path | None, root: str | None) -> Approvers:
    """Return the approvers that count: from a file, from a pinned project, or those that this machine trusts.

    Pinned approvers are remembered: this machine rejects a shorter list later. Raises: NotFound, Invalid,
    VerificationFailed.
    """
    if file is not None:
        found = _approvers_from_file(state, file)
    elif not state.exists:
        raise NotFound(
            "this clone does not have the project's approvers",
            hint="git fetch origin refs/nexus/state:refs/nexus/state brings them, or --approvers names a file",
            fix="git fetch origin refs/nexus/state:refs/nexus/state",
        )
    else:
        view = SignedFiles(state.latest(), state.repo.common_dir)
        found = view.listed() if root is not None else _trusted_approvers(view)
    if root is not None:
        named = parse_root(root)
        refuse_unpinned(named, found)
        _refuse_shortened_approvers(hear_state(state, found, None, Testimony()) if file is None else Testimony())
        if named.project:
            remember_project(found)
    return found


def verify_range(
    state: State,
    approvers: Approvers,
    text: str | None = None,
    *,
    strict: bool = False,
    since_cursor: bool = False,
    forward: bool = False,
    pinned: bool = False,
    kept: bool = False,
) -> RangeVerification:
    """Verify a range in one pass; with `since_cursor` only commits since the last good pass. Raises: Invalid, ….

    With `forward` the end must descend from the start, as for a push. `pinned` is for callers that named the approvers:
    a shortened list is then an error, as with `strict`, otherwise a note. `kept` is for callers that brought a copy of
    the list: what the commits do not tell is then only noted.
    """
    repo = state.repo
    if text is not None and not text.strip():
        # An unset variable must not mean "whatever is here".
        raise Invalid("an empty range names no commits", hint="A..B, or leave it out for what HEAD is ahead by")
    with private_git(repo) as git:
        wanted, most = (
            (parse_commit_range(repo, git, text), 0) if text is not None else _range_ahead_of_upstream(repo, git)
        )
        who = content_digest(approvers.to_bytes())
        ref = f"{head_branch_ref(repo) or 'HEAD'} {text or ''}".strip()
        before = verified_upto.find_cursor(repo.common_dir, ref, who, strict=strict) if since_cursor else None
        since = _usable_cursor_tip(git, before, wanted)
        rows = iterate_commits(git, CommitRange(wanted.tip, (*wanted.without, *([since] if since else []))), most=most)
        earlier = (wanted.tip,) if most else (*wanted.without, *([since] if since else []))
        proofs = list(prove_commits(git, rows, approvers, earlier))
        lost = _lost_commits(git, wanted, strict=strict, forward=forward) if text is not None else None
        if text is not None and not proofs and not since and lost is None:
            raise Invalid(
                f"the range {one_line(text, 80)} holds no commits: nothing was verified",
                hint="A..B is what is on B and not on A; git log A..B shows the same",
            )
        notes = (
            *_verification_notes(git, before, wanted),
            *_check_approvers_shortened(git, wanted, approvers, refused=strict or pinned, kept=kept),
        )
        found = RangeVerification(proofs, wanted.tip, since, approvers.root.key, strict, lost, notes)
    # A range cut at the last hundred commits has no known start.
    if found.ok and not most and len(wanted.without) <= 1:
        start = wanted.without[0] if wanted.without else ""
        made = verified_upto.Cursor(ref=ref, tip=wanted.tip, start=start, approvers=who, strict=strict)
        verified_upto.save_cursor(repo.common_dir, made)
    return found


def prove_commits(
    git: PrivateGit, rows: Iterable[CommitRow], approvers: Approvers, before: Sequence[str] = ()
) -> Iterator[Proof]:
    """Yield a proof for each commit in one pass; approvals used by commits that `before` reaches do not count."""
    edge = _shallow_commits(git)
    lineage = Lineage(lambda: _approvals_reached_by(git, before), lru_cache(maxsize=4096)(partial(is_ancestor, git)))
    with patch_ids(git) as ids:
        tools = VerificationTools(
            proved=lru_cache(maxsize=64)(lambda token: verify_token(token, approvers, utc_now())),
            patch_id=lambda commit: ids.of(commit.parent_trees[0], commit.tree),
            clean_merge=lambda commit: clean_merge_of_all(git, commit.parents),
            brings_back=partial(_merge_restores_change, git),
            lineage=lineage,
            empty_tree=EMPTY_TREE[git.object_format],
        )
        for proof in verify_commits((CommitToVerify(*row) for row in rows), tools):
            if proof.status != "approved" and proof.commit in edge:
                words = f"{proof.reason}, or cannot be seen: this clone is shallow (git fetch --unshallow)"
                yield proof.changed(reason=words)
            else:
                yield proof


def _lost_commits(git: PrivateGit, commit_range: CommitRange, *, strict: bool, forward: bool) -> LostCommits | None:
    """Return the commits of the start that the range would drop, None if its end descends from its start.

    By default this is an error only where nothing else can be meant: in a hook that judges a push, and where the end is
    an ancestor of the start, so that the range is empty.
    """
    behind = [start for start in commit_range.without if not is_ancestor(git, start, commit_range.tip)]
    if not behind:
        return None
    push = forward or bool(os.environ.get("GIT_QUARANTINE_PATH"))
    refused = push or (strict and is_ancestor(git, commit_range.tip, behind[0]))
    return LostCommits(behind[0], count_lost_commits(git, behind[0], commit_range.tip), refused)


def _verification_notes(
    git: PrivateGit, known: verified_upto.Cursor | None, commit_range: CommitRange
) -> tuple[str, ...]:
    """Return what the proofs leave open."""
    notes = []
    if _shallow_commits(git):
        notes.append("this clone is shallow: whether an approval proved its change before cannot be seen")
    if known is not None and not is_ancestor(git, known.tip, commit_range.tip):
        notes.append(
            f"the history goes back: the last good pass ended at {known.tip[:12]}, which is not in this history"
        )
    return tuple(notes)


def _check_approvers_shortened(
    git: PrivateGit, commit_range: CommitRange, approvers: Approvers, *, refused: bool, kept: bool
) -> list[str]:
    """Return evidence in the commits that the approver list was shortened. Raises: VerificationFailed if `refused`."""
    # If it is an error, search all: any number of commits may follow the one that tells.
    heard = hear_commits(git, [[commit_range.tip]], approvers, {}, 0 if refused else _LISTENED)
    if refused:
        _refuse_shortened_approvers(heard, kept=kept)
    behind = [f"the list of approvers is older than it was: {heard.behind}"] if heard.behind else []
    return [*behind, *([f"{_OPEN}: {heard.unheard}"] if heard.unheard else [])]


def _refuse_shortened_approvers(heard: Testimony, *, kept: bool = False) -> None:
    if heard.behind:
        raise VerificationFailed(
            f"the list of approvers is older than it was: {heard.behind}",
            hint="fetch the newest refs/nexus/state; if this is the newest, somebody put an old one back",
        )
    if heard.unheard and not kept:
        raise VerificationFailed(
            f"{_OPEN}: {heard.unheard}", hint="find out who put them there; --approvers FILE takes a copy of the list"
        )


def _approvals_reached_by(git: PrivateGit, tips: Sequence[str]) -> dict[bytes, tuple[str, ...]]:
    """Return the approvals carried by the commits that `tips` reach, with those commits."""
    found: dict[bytes, tuple[str, ...]] = {}
    for commit, message in messages_containing(git, f"{APPROVAL}: ", tips, merges=False):
        said = read_trailers(message)
        for token in said.approvals[:MOST_APPROVALS] if said is not None else ():
            key = approval_key(token)
            found[key] = (*found.get(key, ()), commit)
    return found


def _merge_restores_change(git: PrivateGit, merge: CommitToVerify, use: ApprovalUse) -> bool:
    """True if a merge adds something to a parent that no longer has a change proved there."""
    before, after = trees_before_and_after(git, use.commit)
    parent = merge.parent_trees[merge.parents.index(use.parent)]
    return parent != merge.tree and not is_change_intact(git, parent, before, after)


def _approvers_from_file(state: State, file: Path) -> Approvers:
    try:
        with file.open("rb") as handle:
            raw = handle.read(_LARGEST)
    except OSError as exc:
        raise Invalid(f"{file}: {exc.strerror}", hint="--approvers takes a copy of .nexus/approvers") from exc
    project = project_id_of(state.latest()) if state.exists else None
    return chain.verify_chain(raw, project or chain.parse_chain(raw)[0].project)


def _trusted_approvers(view: SignedFiles) -> Approvers:
    try:
        return view.approvers_with_consent()
    except VerificationFailed as exc:
        first = ""
        with contextlib.suppress(NexusError):
            first = f" (here it would be {format_root(view.listed())})"
        raise VerificationFailed(
            exc.message, hint=f"{exc.hint}; or --root pins project and first approver, as an approver told you{first}"
        ) from exc


def _range_ahead_of_upstream(repo: Repo, git: PrivateGit) -> tuple[CommitRange, int]:
    """Return the commits of HEAD not in its upstream or the default branch; else the last ones, and how many."""
    tip = resolve_head(repo, git)
    for name in _upstream_candidates(repo):
        try:
            start = resolve_commit(repo, git, name)
        except (NotFound, Invalid):
            continue
        if not is_ancestor(git, tip, start):
            return CommitRange(tip, (start,)), 0
    return CommitRange(tip), LAST


def _upstream_candidates(repo: Repo) -> list[str]:
    branch = head_branch_ref(repo).removeprefix("refs/heads/")
    remote, merge = (config.config_value(repo, f"branch.{branch}.{word}") for word in ("remote", "merge"))
    named = []
    if remote and merge:
        short = merge.removeprefix("refs/heads/")
        named.append(f"refs/heads/{short}" if remote == "." else f"refs/remotes/{remote}/{short}")
    return [*named, "refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"]


def _usable_cursor_tip(git: PrivateGit, known: verified_upto.Cursor | None, commit_range: CommitRange) -> str:
    """Return where an earlier pass ended, if everything it covers is in the requested range."""
    if known is None or not is_ancestor(git, known.tip, commit_range.tip):
        return ""
    if known.start and not any(is_ancestor(git, known.start, start) for start in commit_range.without):
        return ""
    return known.tip


def _shallow_commits(git: PrivateGit) -> frozenset[str]:
    """Return the boundary commits of a shallow clone."""
    try:
        return frozenset((git.folder / "shallow").read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return frozenset()
