"""Lands a run: verifies its commits, then merges or fast-forwards the checked-out branch with the user's own git."""

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.base.errors import ApprovalNeeded, Conflict, Failed, NexusError, VerificationFailed
from gitnexus.events.kinds import LONGEST_NAME, shorten_text
from gitnexus.gateway.assemble import AskPerson
from gitnexus.git import Repo, user_git
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.child import git_error_line
from gitnexus.git.commits import CommitRange, CommitRow, iterate_commits, tree_of_commit
from gitnexus.git.merging import merge_base
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import head_branch_ref, resolve_head
from gitnexus.git.tree_diff import diff_trees
from gitnexus.git.worktrees import list_worktrees
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.pins import read_pin
from gitnexus.policy.seen import format_statement
from gitnexus.policy.signed import GUARDED, SignedFiles
from gitnexus.policy.tokens import ExpectedAction, issue_token, make_claims
from gitnexus.policy.trust import signer_for_repo
from gitnexus.runs import store
from gitnexus.runs.archive import LOGS
from gitnexus.runs.claimed_decisions import run_as_known
from gitnexus.runs.contradictions import refuse_contradicted
from gitnexus.runs.gone_branch import gone_branch_error
from gitnexus.runs.ids import run_branch_ref as run_branch
from gitnexus.runs.import_log import import_log_if_missing
from gitnexus.runs.landing.checks import Check, configured_checks, logged_check, refuse_ruled_check
from gitnexus.runs.landing.plan_landing import (
    ACTION,
    LandingPlan,
    Way,
    approval_tokens,
    last_landed_commit,
    merge_message,
    plan_landing,
    refuse_unapproved_branch,
    refuse_unfinished_run,
)
from gitnexus.runs.landing.reapprove import reapproval_asker
from gitnexus.runs.landing.unfinished import GitDied, LandingNote, noted_landing, undo_unfinished_landing
from gitnexus.runs.landing.verify_commit import merge_request_digest
from gitnexus.runs.landing.verify_range import prove_commits
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.state import State

_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class LandingResult:
    """The landed run; `already` if it had landed before, `checks` that ran, `left` uncommitted files."""

    run: Run
    commit: str
    branch: str
    way: Way
    already: bool
    checks: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _LandingContext:
    """The repository, checkout, branch and options of one landing."""

    state: State
    git: PrivateGit
    place: Path
    branch: str
    approvers: Approvers

    @property
    def repo(self) -> Repo:
        return self.state.repo


def land_run(state: State, word: str, way: Way, check: Check, ask: AskPerson | None = None) -> LandingResult:
    """Land a run's approved commits on the current branch. Raises: Failed, Conflict, VerificationFailed, ….

    If the base moved so that the result differs from what was approved, `ask` asks the user about it.
    """
    snapshot = state.required()
    run = store.read_run(snapshot, word)
    if run.status not in ENDED:
        from gitnexus.runs.finish_interrupted import (
            finish_begun,  # imports the agents: only if something is unfinished
        )

        run = finish_begun(state, run)
    if state.repo.worktree is not None:
        undo_unfinished_landing(state.repo, state.repo.worktree)
    place, branch = _require_landing_checkout(state.repo)
    approvers = SignedFiles(snapshot, state.repo.common_dir).approvers_with_consent()
    with private_git(state.repo) as git:
        context = _LandingContext(state, git, place, branch, approvers)
        head = resolve_head(state.repo, git)
        tip = state.objects.tip(run_branch(run.id)) or _put_away(git, run)
        if tip is None:
            return _result_without_branch(context, run, head, way)
        refuse_contradicted(OpenRun(state, run))
        refuse_unfinished_run(run_as_known(OpenRun(state, run)), tip)
        rows = list(iterate_commits(git, CommitRange(tip, (run.base,))))
        refuse_unapproved_branch(run, rows, list(prove_commits(git, rows, approvers)))
        there = _find_landed_commit(context, run, rows, head)
        if there:
            _log_landing(state, run, there, branch, way)
            return LandingResult(_record_landing(state, run, there), there, branch, way, True)
        with patch_ids(git) as ids:
            vouch = _landing_voucher(context, run)
            parents = (head, tip) if way == "merge" else ()
            renew = reapproval_asker(
                OpenRun(state, run), git, head, ask, lambda old, new: vouch(old, new, ids.of(old, new), parents)
            )
            plan = plan_landing(git, ids, run, rows, head, way, vouch, renew)
        left = tuple(_untouched_changes(context, plan, way))
        git.keep(plan.result)
        checks = configured_checks(state)
        for argv in checks:
            refuse_ruled_check(OpenRun(state, run), argv, ask)
        for argv in checks:
            with logged_check(state, run, plan.result, argv):
                check(OpenRun(state, run), git, plan.result, argv)
        note = LandingNote(run=run.id, head=plan.head, target=plan.target, result=plan.result)
        with noted_landing(state.repo, place, note) as under_way:
            if way == "merge":
                commit, under_way.git_died = _merge_branch(context, run, plan, len(rows))
            else:
                commit, under_way.git_died = _fast_forward_branch(context, run, plan)
    _log_landing(state, run, commit, branch, way)
    words = tuple(" ".join(argv) for argv in checks)
    return LandingResult(_record_landing(state, run, commit), commit, branch, way, False, words, left)


def _require_landing_checkout(repo: Repo) -> tuple[Path, str]:
    """Return the checkout and its branch. Raises: Failed."""
    if repo.worktree is None:
        raise Failed("a bare repository has no checkout to land in", hint="land from a clone or a worktree")
    if any(one.is_run and one.git_dir.resolve() == repo.git_dir.resolve() for one in list_worktrees(repo)):
        raise Failed("this is the worktree of a run", hint="land from your own checkout")
    branch = head_branch_ref(repo)
    if not branch:
        raise Failed("no branch is checked out here", hint="git switch to the branch that it should land on")
    if branch.startswith("refs/heads/nexus/"):
        raise Failed(f"{branch.removeprefix('refs/heads/')} is the branch of a run", hint="git switch to your own")
    busy = user_git.operation_under_way(repo)
    if busy is not None:
        raise Failed(f"{busy} is under way in this checkout", hint="finish it first, or abort it; git status shows how")
    return repo.worktree, branch


def _result_without_branch(context: _LandingContext, run: Run, head: str, way: Way) -> LandingResult:
    if run.status == "landed" and run.landed and is_ancestor(context.git, run.landed, head):
        return LandingResult(run, run.landed, context.branch, way, True)
    raise gone_branch_error(context.state, run)


def _put_away(git: PrivateGit, run: Run) -> str | None:
    """Return the last commit of a completed run whose branch was deleted, None if it is not available here."""
    if run.status != "completed" or not run.head:
        return None
    return run.head if git.run("cat-file", "-e", f"{run.head}^{{commit}}").returncode == 0 else None


def _find_landed_commit(context: _LandingContext, run: Run, rows: list[CommitRow], head: str) -> str:
    """Return the commit by which the run already landed on this branch, after a kill or an earlier call; else ""."""
    if is_ancestor(context.git, rows[-1].id, head):
        recorded = run.landed if run.landed and is_ancestor(context.git, run.landed, head) else ""
        return recorded or _first_merge_of(context.git, rows[-1].id, head)
    start = merge_base(context.git, run.base, head)
    ours = list(iterate_commits(context.git, CommitRange(head, (start,) if start else ())))
    return last_landed_commit(
        run, ours, list(prove_commits(context.git, ours, context.approvers)), approval_tokens(rows)
    )


def _first_merge_of(git: PrivateGit, tip: str, head: str) -> str:
    """Return the first merge between `tip` and `head` that contains `tip`, else `tip` itself (a fast-forward)."""
    first = next((row for row in iterate_commits(git, CommitRange(head, (tip,))) if tip in row.parents[1:]), None)
    return first.id if first is not None else tip


def _landing_voucher(context: _LandingContext, run: Run) -> Callable[..., str]:
    def vouch(base: str, result: str, patch: str, parents: tuple[str, ...] = ()) -> str:
        signer = signer_for_repo(context.repo)
        try:
            context.approvers.public_of(signer.key_id)
        except VerificationFailed as exc:
            raise ApprovalNeeded(
                f"landing {run.id} like this on a base that moved needs an approver's signature, and {exc.message}",
                hint="an approver can land it, or land it with --merge or --rebase",
            ) from exc
        moment, ledger = utc_now(), Ledger(context.repo.common_dir)
        said = "\0".join((ACTION, run.id, base, result, patch)).encode()
        request = (
            merge_request_digest(run.id, parents, result) if parents else f"sha256:{hashlib.sha256(said).hexdigest()}"
        )
        expected = ExpectedAction(
            project=context.approvers.project,
            run=run.id,
            action=ACTION,
            kind="patch",
            request=request,
            mode="default",
            base=base,
            result=result,
            patch_id=patch,
        )
        claims = make_claims(
            expected,
            scope="once",
            ledger=ledger.begin(moment),
            approver=signer.key_id,
            now=moment,
            lasts=timedelta(minutes=5),
        )
        claims = claims.changed(seen=format_statement(read_pin(context.repo.common_dir), GUARDED))
        token = issue_token(claims, signer)
        ledger.spend(claims, moment)  # it proves what was done here, and grants nothing
        return token

    return vouch


def _untouched_changes(context: _LandingContext, plan: LandingPlan, way: Way) -> list[str]:
    """Return uncommitted files that the landing does not write. Raises: Conflict if it would write one."""
    changed, staged = user_git.uncommitted_paths(context.place)
    rows = diff_trees(context.git, tree_of_commit(context.git, plan.head), plan.result)
    touched = {row.path for row in rows}
    made = [row.path for row in rows if not row.old_mode]
    found = (changed & touched) | {path for path in made if _is_path_taken(context.place, path, touched)}
    found |= staged if way == "merge" else set()  # git merges only if the index matches HEAD
    if found:
        named = sorted(found)[:_MOST_NAMED]
        more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        raise Conflict(
            f"uncommitted work is in the way: {', '.join(named)}{more}",
            hint="commit or stash it (git stash -u), then land again; nothing was changed",
            context={"paths": sorted(found)},
        )
    return sorted(changed | staged)


def _is_path_taken(place: Path, path: str, touched: set[str]) -> bool:
    """True if anything exists at `path`, ignored or not, or a file where a folder is needed."""
    if os.path.lexists(place / path):
        return not (place / path).is_dir() or (place / path).is_symlink() or any((place / path).iterdir())
    above = [Path(path).parents[at].as_posix() for at in range(len(Path(path).parents) - 1)]
    return any((place / one).is_symlink() or (place / one).is_file() for one in above if one not in touched)


def _merge_branch(context: _LandingContext, run: Run, plan: LandingPlan, count: int) -> tuple[str, bool]:
    """Merge with the user's git; return the commit, and whether that git was killed once it had made it."""
    done = user_git.run_user_git(
        context.place,
        "merge",
        "--no-ff",
        "--quiet",
        "--no-stat",
        "-m",
        plan.message or merge_message(run, count),
        plan.target,
    )
    if done.returncode != 0 and not _is_head(context, lambda row: row.parents == (plan.head, plan.target)):
        raise _git_failure(
            done, f"git did not merge {run.branch}", "nothing was changed; a hook of yours may have refused it"
        )
    return _require_planned_head(context, run, plan), done.returncode < 0


def _git_failure(done: "subprocess.CompletedProcess[bytes]", words: str, hint: str) -> Conflict:
    """Return the error for a failed merge; one of its own for a git that a signal killed."""
    if done.returncode < 0:
        return GitDied(f"{words}: it was killed by signal {-done.returncode}", hint="nothing was changed; try again")
    return Conflict(f"{words}: {git_error_line(done.stderr or done.stdout)}", hint=hint)


def _is_head(context: _LandingContext, is_wanted: Callable[[CommitRow], bool]) -> bool:
    """True if the branch moved as planned although git failed: it was killed after that."""
    with private_git(context.repo) as git:  # a new object: HEAD may have moved
        head = resolve_head(context.repo, git)
        return is_wanted(next(iter(iterate_commits(git, CommitRange(head), most=1))))


def _fast_forward_branch(context: _LandingContext, run: Run, plan: LandingPlan) -> tuple[str, bool]:
    """Create and verify the commits off any branch, then fast-forward to them with the user's git.

    Return the last one, and whether that git was killed once it had moved the branch.
    """
    target = plan.target
    if plan.written:
        target = plan.head
        for one in plan.written:
            context.git.keep(one.tree)
            target = user_git.create_user_commit(context.place, one.tree, target, one.message, one.author)
        rows = iterate_commits(context.git, CommitRange(target, (plan.head,)))
        for proof in prove_commits(context.git, rows, context.approvers, (plan.head,)):
            if proof.status != "approved":
                raise VerificationFailed(
                    f"{run.id} could not be verified afterwards: {proof.reason}", hint="land it with --merge"
                )
    done = user_git.run_user_git(context.place, "merge", "--ff-only", "--quiet", "--no-stat", target)
    if done.returncode != 0 and not _is_head(context, lambda row: row.id == target):
        raise _git_failure(done, f"git did not merge {run.id}", "nothing was changed; try again")
    return _require_planned_head(context, run, plan), done.returncode < 0


def _require_planned_head(context: _LandingContext, run: Run, plan: LandingPlan) -> str:
    """Return the commit of HEAD if it is the planned one. Raises: VerificationFailed."""
    with private_git(context.repo) as git:  # a new object: HEAD has moved
        commit = resolve_head(context.repo, git)
        if tree_of_commit(git, commit) == plan.result:
            return commit
        made = next(iter(iterate_commits(git, CommitRange(commit), most=1)))
    words = "it is on your branch, and was not undone"
    # Back to the parent of our merge, which may be a commit that was made just now. Uncommitted changes are kept,
    # or git does nothing; the merge stays in the reflog.
    ours = made.parents[1:] == (plan.target,)
    if ours and user_git.run_user_git(context.place, "reset", "--keep", "--quiet", made.parents[0]).returncode == 0:
        words = "your branch is where it was"
    raise VerificationFailed(
        f"{commit[:12]}, which git made of it, holds something else than was approved for {run.id}",
        hint=f"a merge driver or a hook of yours, or a commit made meanwhile, changed it; {words}",
    )


def _log_landing(state: State, run: Run, commit: str, branch: str, way: Way) -> None:
    """Log the landing once; the landing does not depend on it.

    The log is what the clone that began the run believes: a record alone is a claim, and would be set back there.
    """
    open_run = OpenRun(state, run)
    with contextlib.suppress(NexusError):
        if not run.session:
            import_log_if_missing(state.repo.common_dir, state.objects, run, open_run.head_file)
        if not open_run.log.path.exists():
            return
        is_logged = bool(open_run.view().landed)
        if not is_logged:
            into = shorten_text(branch.removeprefix("refs/heads/"), LONGEST_NAME)
            open_run.log.append("run.landed", "user", {"commit": commit, "into": into, "how": way})
        # One who was killed may have logged it and not come to the ref; what is in an archive stays there.
        if not is_logged or state.objects.tip(f"{LOGS}{run.id}"):
            open_run.write_checkpoint()


def _record_landing(state: State, run: Run, commit: str) -> Run:
    def change(before: Run) -> Run:
        if before.status == "landed" and before.landed == commit:
            return before
        return before.changed(status="landed", landed=commit, ended=before.ended or format_timestamp(utc_now()))

    return store.update_run(state, run.id, change, f"runs: land {run.id}")
