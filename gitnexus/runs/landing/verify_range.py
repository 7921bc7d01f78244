"""Commits verified: which range, by whose keys, and from where the last time ended."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from gitnexus.app.witness import Testimony, hear_commits, hear_state
from gitnexus.base.clock import now
from gitnexus.base.errors import Invalid, NexusError, NotFound, VerificationFailed
from gitnexus.git import Repo, config
from gitnexus.git.commits import CommitRow, Range, log, messages_with, range_of, trees_around
from gitnexus.git.merging import clean_merge_of_all, count_lost, is_ancestor
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import EMPTY_TREE, PrivateGit, private
from gitnexus.git.revisions import branch_of, commit_of, head_of
from gitnexus.git.standing import stands_in
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.pins import remember_project
from gitnexus.policy.seen import format_root, parse_root, refuse_unpinned
from gitnexus.policy.signed import Signed, digest
from gitnexus.policy.tokens import proved
from gitnexus.runs import cursor
from gitnexus.runs.lineage import Lineage, Use, key_of
from gitnexus.runs.message import APPROVAL
from gitnexus.runs.message import read as read_trailers
from gitnexus.runs.verify import MOST_APPROVALS, Commit, Proof, Tools, verified
from gitnexus.state import State
from gitnexus.state.format import id_of

# Where nothing is ahead of anything, so many of the last commits are looked at.
LAST = 100
_LARGEST = 2**20
# So many of the newest commits are asked how far the list of approvers had come, where it is not to be refused.
_LISTENED = 1000
_OPEN = "it cannot be ruled out that the list of approvers is older than it was"


@dataclass(frozen=True, slots=True)
class Lost:
    """A range A..B whose end does not go on from its start: `count` commits of `start` are not in it.

    Of a branch that is to come into another this is usual; where it is a push it would undo them.
    """

    start: str
    count: int
    refused: bool


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found; `since` is the commit up to which an earlier pass had been good, `tip` where this one ended.

    `lost` is set where the range goes back from its start; `notes` is what could not be ruled out.
    """

    proofs: list[Proof]
    tip: str
    since: str
    root: str
    strict: bool
    lost: Lost | None = None
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
    """Return whose approvals count: those of a file, of a project that is pinned, or that this machine trusts.

    What is pinned with its project is remembered: this machine takes no shorter list of it afterwards.

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
        found = view.listed() if root is not None else _trusted(view)
    if root is not None:
        named = parse_root(root)
        refuse_unpinned(named, found)
        _refuse_cut_back(hear_state(state, found, None, Testimony()) if file is None else Testimony())
        if named.project:
            remember_project(found)
    return found


def verify(
    state: State,
    approvers: Approvers,
    text: str | None = None,
    *,
    strict: bool = False,
    since_cursor: bool = False,
    forward: bool = False,
    pinned: bool = False,
    kept: bool = False,
) -> Verified:
    """Verify a range in one pass; with `since_cursor` only what came since the last good pass. Raises: Invalid, …

    With `forward` its end must go on from its start, as it must where a push is judged. `pinned` is for who
    named the approvers: then a list that was cut back is an error, as with `strict`, and else a note. `kept` is for who
    brought a copy of the list: what the commits do not tell is only noted then.
    """
    repo = state.repo
    with private(repo) as git:
        wanted, most = (range_of(repo, git, text), 0) if text is not None else _ahead(repo, git)
        who = digest(approvers.to_bytes())
        ref = f"{branch_of(repo) or 'HEAD'} {text or ''}".strip()
        before = cursor.known(repo.common_dir, ref, who, strict=strict) if since_cursor else None
        since = _start(git, before, wanted)
        rows = log(git, Range(wanted.tip, (*wanted.without, *([since] if since else []))), most=most)
        earlier = (wanted.tip,) if most else (*wanted.without, *([since] if since else []))
        proofs = list(proofs_of(git, rows, approvers, earlier))
        lost = _lost(git, wanted, strict=strict, forward=forward) if text is not None else None
        notes = (*_notes(git, before, wanted), *_cut_back(git, wanted, approvers, refused=strict or pinned, kept=kept))
        found = Verified(proofs, wanted.tip, since, approvers.root.key, strict, lost, notes)
    # What was cut off at the last hundred has no start that could be told.
    if found.ok and not most and len(wanted.without) <= 1:
        start = wanted.without[0] if wanted.without else ""
        made = cursor.Cursor(ref=ref, tip=wanted.tip, start=start, approvers=who, strict=strict)
        cursor.remember(repo.common_dir, made)
    return found


def proofs_of(
    git: PrivateGit, rows: Iterable[CommitRow], approvers: Approvers, before: Sequence[str] = ()
) -> Iterator[Proof]:
    """Yield a proof for each commit, in one pass; no approval counts that a commit reached by `before` has used."""
    edge = _edge(git)
    lineage = Lineage(lambda: _approvals_in(git, before), lru_cache(maxsize=4096)(partial(is_ancestor, git)))
    with patch_ids(git) as ids:
        tools = Tools(
            proved=lru_cache(maxsize=64)(lambda token: proved(token, approvers, now())),
            patch_id=lambda commit: ids.of(commit.parent_trees[0], commit.tree),
            clean_merge=lambda commit: clean_merge_of_all(git, commit.parents),
            brings_back=partial(_brings_back, git),
            lineage=lineage,
            empty_tree=EMPTY_TREE[git.object_format],
        )
        for proof in verified((Commit(*row) for row in rows), tools):
            if proof.status != "approved" and proof.commit in edge:
                words = f"{proof.reason}, or cannot be seen: this clone is shallow (git fetch --unshallow)"
                yield proof.changed(reason=words)
            else:
                yield proof


def _lost(git: PrivateGit, wanted: Range, *, strict: bool, forward: bool) -> Lost | None:
    """Return what a range would undo of its start, None if it goes on from it.

    Without a word of the caller it is refused where nothing else could be meant: in a hook that judges a push, and
    where the end lies before the start, so that the range is empty.
    """
    behind = [start for start in wanted.without if not is_ancestor(git, start, wanted.tip)]
    if not behind:
        return None
    push = forward or bool(os.environ.get("GIT_QUARANTINE_PATH"))
    refused = push or (strict and is_ancestor(git, wanted.tip, behind[0]))
    return Lost(behind[0], count_lost(git, behind[0], wanted.tip), refused)


def _notes(git: PrivateGit, known: cursor.Cursor | None, wanted: Range) -> tuple[str, ...]:
    """Return what the proofs leave open."""
    notes = []
    if _edge(git):
        notes.append("this clone is shallow: whether an approval proved its change before cannot be seen")
    if known is not None and not is_ancestor(git, known.tip, wanted.tip):
        notes.append(f"it goes back: the last good pass ended at {known.tip[:12]}, which is not in this history")
    return tuple(notes)


def _cut_back(git: PrivateGit, wanted: Range, approvers: Approvers, *, refused: bool, kept: bool) -> list[str]:
    """Return what the commits say against the list of approvers. Raises: VerificationFailed, if `refused`."""
    # What would be refused asks all: any number of commits may have been put on top of the one that tells.
    heard = hear_commits(git, [[wanted.tip]], approvers, {}, 0 if refused else _LISTENED)
    if refused:
        _refuse_cut_back(heard, kept=kept)
    behind = [f"the list of approvers is older than it was: {heard.behind}"] if heard.behind else []
    return [*behind, *([f"{_OPEN}: {heard.unheard}"] if heard.unheard else [])]


def _refuse_cut_back(heard: Testimony, *, kept: bool = False) -> None:
    if heard.behind:
        raise VerificationFailed(
            f"the list of approvers is older than it was: {heard.behind}",
            hint="fetch the newest refs/nexus/state; if it is that, somebody put an old one back",
        )
    if heard.unheard and not kept:
        raise VerificationFailed(
            f"{_OPEN}: {heard.unheard}", hint="find out who put them there; --approvers FILE takes a copy of the list"
        )


def _approvals_in(git: PrivateGit, tips: Sequence[str]) -> dict[bytes, tuple[str, ...]]:
    """Return which commits that `tips` reach carry which approvals."""
    found: dict[bytes, tuple[str, ...]] = {}
    for commit, message in messages_with(git, f"{APPROVAL}: ", tips, merges=False):
        said = read_trailers(message)
        for token in said.approvals[:MOST_APPROVALS] if said is not None else ():
            key = key_of(token)
            found[key] = (*found.get(key, ()), commit)
    return found


def _brings_back(git: PrivateGit, merge: Commit, use: Use) -> bool:
    """True if a merge adds something to a parent in which a change that was proved there no longer stands."""
    before, after = trees_around(git, use.commit)
    parent = merge.parent_trees[merge.parents.index(use.parent)]
    return parent != merge.tree and not stands_in(git, parent, before, after)


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
            first = f" (here it would be {format_root(view.listed())})"
        raise VerificationFailed(
            exc.message, hint=f"{exc.hint}; or --root pins project and first approver, as an approver told you{first}"
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
