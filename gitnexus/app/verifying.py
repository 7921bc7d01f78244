"""Commits verified: which range, by whose keys, and from where the last time ended."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gitnexus.base.errors import Invalid, NexusError, NotFound, VerificationFailed
from gitnexus.git import Repo, config
from gitnexus.git.commits import CommitRow, Range, log, range_of
from gitnexus.git.merging import clean_merge, is_ancestor
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import EMPTY_TREE, PrivateGit, private
from gitnexus.git.revisions import branch_of, commit_of, head_of
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.signed import Signed, digest
from gitnexus.policy.tokens import proved
from gitnexus.runs import cursor
from gitnexus.runs.verify import Commit, Proof, Tools, verified
from gitnexus.state import State
from gitnexus.state.format import id_of

# Where nothing is ahead of anything, so many of the last commits are looked at.
LAST = 100
_LARGEST = 2**20


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found; `since` is the commit up to which an earlier pass had been good, `tip` where this one ended."""

    proofs: list[Proof]
    tip: str
    since: str
    root: str
    strict: bool

    @property
    def wrong(self) -> list[Proof]:
        """The commits for which the command fails."""
        bad = ("invalid", "unapproved") if self.strict else ("invalid",)
        return [proof for proof in self.proofs if proof.status in bad]


def approvers_for(state: State, file: Path | None, root: str | None) -> Approvers:
    """Return whose approvals count: those of a file, of a first key that is named, or that this machine trusts.

    Raises: NotFound, Invalid, VerificationFailed.
    """
    if file is not None:
        found = _from_file(state, file)
    elif not state.exists:
        raise NotFound(
            "this clone does not have the project's approvers",
            hint="git fetch origin refs/nexus/state:refs/nexus/state brings them, or --approvers names a file",
            fix="git fetch origin refs/nexus/state:refs/nexus/state",
        )
    else:
        view = Signed(state.latest(), state.repo.common_dir)
        found = view.listed() if root else _trusted(view)
    if root and found.root.key != root:
        raise VerificationFailed(
            f"the first approver is {found.root.key}, not the one that --root names",
            hint="find out who changed the list: git nexus log approvers",
        )
    return found


def verify(
    state: State,
    approvers: Approvers,
    text: str | None = None,
    *,
    strict: bool = False,
    since_cursor: bool = False,
) -> Verified:
    """Verify a range in one pass; with `since_cursor` only what came since the last good pass. Raises: Invalid, …"""
    repo = state.repo
    with private(repo) as git:
        wanted, most = (range_of(repo, git, text), 0) if text is not None else _ahead(repo, git)
        who = digest(approvers.to_bytes())
        ref = f"{branch_of(repo) or 'HEAD'} {text or ''}".strip()
        before = cursor.known(repo.common_dir, ref, who, strict=strict) if since_cursor else None
        since = _start(git, before, wanted)
        rows = log(git, Range(wanted.tip, (*wanted.without, *([since] if since else []))), most=most)
        proofs = list(proofs_of(git, rows, approvers))
        found = Verified(proofs, wanted.tip, since, approvers.root.key, strict)
    # What was cut off at the last hundred has no start that could be told.
    if not found.wrong and not most and len(wanted.without) <= 1:
        start = wanted.without[0] if wanted.without else ""
        made = cursor.Cursor(ref=ref, tip=wanted.tip, start=start, approvers=who, strict=strict)
        cursor.remember(repo.common_dir, made)
    return found


def proofs_of(git: PrivateGit, rows: Iterable[CommitRow], approvers: Approvers) -> Iterator[Proof]:
    """Yield a proof for each commit, in one pass."""
    edge = _edge(git)
    with patch_ids(git) as ids:
        tools = Tools(
            proved=lru_cache(maxsize=64)(lambda token: proved(token, approvers)),
            patch_id=lambda commit: ids.of(commit.parent_trees[0], commit.tree),
            clean_merge=lambda commit: clean_merge(git, *commit.parents) if len(commit.parents) == 2 else None,
            empty_tree=EMPTY_TREE[git.object_format],
        )
        for proof in verified((Commit(*row) for row in rows), tools):
            if proof.status != "approved" and proof.commit in edge:
                words = f"{proof.reason}, or cannot be seen: this clone is shallow (git fetch --unshallow)"
                yield proof.changed(reason=words)
            else:
                yield proof


def _from_file(state: State, file: Path) -> Approvers:
    try:
        with file.open("rb") as handle:
            raw = handle.read(_LARGEST)
    except OSError as exc:
        raise Invalid(f"{file}: {exc.strerror}", hint="--approvers takes a copy of .nexus/approvers") from exc
    project = id_of(state.latest()) if state.exists else None
    return chain.verified(raw, project or chain.read(raw)[0].project)


def _trusted(view: Signed) -> Approvers:
    try:
        return view.consented()
    except VerificationFailed as exc:
        first = ""
        with contextlib.suppress(NexusError):
            first = f" (here it would be {view.listed().root.key})"
        raise VerificationFailed(
            exc.message, hint=f"{exc.hint}; or --root names the first approver, as its owner told you{first}"
        ) from exc


def _ahead(repo: Repo, git: PrivateGit) -> tuple[Range, int]:
    """Return what HEAD has and its upstream or the default branch has not; else the last commits, and how many."""
    tip = head_of(repo, git)
    for name in _upstreams(repo):
        try:
            start = commit_of(repo, git, name)
        except (NotFound, Invalid):
            continue
        if not is_ancestor(git, tip, start):
            return Range(tip, (start,)), 0
    return Range(tip), LAST


def _upstreams(repo: Repo) -> list[str]:
    branch = branch_of(repo).removeprefix("refs/heads/")
    remote, merge = (config.get(repo, f"branch.{branch}.{word}") for word in ("remote", "merge"))
    named = []
    if remote and merge:
        short = merge.removeprefix("refs/heads/")
        named.append(f"refs/heads/{short}" if remote == "." else f"refs/remotes/{remote}/{short}")
    return [*named, "refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"]


def _start(git: PrivateGit, known: cursor.Cursor | None, wanted: Range) -> str:
    """Return where an earlier pass ended, if all that it vouches for lies in what is asked now."""
    if known is None or not is_ancestor(git, known.tip, wanted.tip):
        return ""
    if known.start and not any(is_ancestor(git, known.start, start) for start in wanted.without):
        return ""
    return known.tip


def _edge(git: PrivateGit) -> frozenset[str]:
    """Return the commits at which a shallow clone was cut."""
    try:
        return frozenset((git.folder / "shallow").read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return frozenset()
