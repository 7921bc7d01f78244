"""A run's work comes into the branch that is checked out: proved first, then by the user's own git, in one step."""

import contextlib
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from gitnexus.app.bench import AskPerson
from gitnexus.app.checks import Check, checks_of, refuse_ruled_check, told
from gitnexus.app.landanew import renewer
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.trust import signer_of
from gitnexus.app.unfinished_landing import LandingNote, noted_landing, undo_unfinished_landing
from gitnexus.app.verifying import proofs_of
from gitnexus.base.clock import now, stamp
from gitnexus.base.errors import ApprovalNeeded, Conflict, Failed, NexusError, NotFound, VerificationFailed
from gitnexus.events.kinds import LONGEST_NAME, short
from gitnexus.git import Repo, users
from gitnexus.git.child import reason
from gitnexus.git.commits import CommitRow, Range, log, tree_of
from gitnexus.git.merging import is_ancestor, merge_base
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import branch_of, head_of
from gitnexus.git.rows import difference
from gitnexus.git.worktrees import worktrees
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.pins import pinned
from gitnexus.policy.seen import statement_of
from gitnexus.policy.signed import GUARDED, Signed
from gitnexus.policy.tokens import Expected, approved, issue
from gitnexus.runs import store
from gitnexus.runs.ids import branch_of as run_branch
from gitnexus.runs.land import (
    ACTION,
    Plan,
    Way,
    approvals_of,
    landed_at,
    merge_message,
    planned,
    refuse_unproved,
    refuse_unready,
)
from gitnexus.runs.model import Run
from gitnexus.runs.verify import merge_request
from gitnexus.state import State

_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Landed:
    """Where the run is now; `already` if it was there before, `checks` what ran first, `left` what is uncommitted."""

    run: Run
    commit: str
    branch: str
    way: Way
    already: bool
    checks: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Scene:
    """All that a landing looks at."""

    state: State
    git: PrivateGit
    place: Path
    branch: str
    approvers: Approvers

    @property
    def repo(self) -> Repo:
        return self.state.repo


def land(state: State, word: str, way: Way, check: Check, ask: AskPerson | None = None) -> Landed:
    """Bring a run's approved commits into the current branch. Raises: Failed, Conflict, VerificationFailed, …

    Where its base moved so that something else would land, `ask` is asked about that.
    """
    snapshot = state.required()
    run = store.read(snapshot, word)
    if state.repo.worktree is not None:
        with private(state.repo) as git:
            undo_unfinished_landing(state.repo, git, state.repo.worktree)
    place, branch = _checkout(state.repo)
    approvers = Signed(snapshot, state.repo.common_dir).consented()
    with private(state.repo) as git:
        scene = _Scene(state, git, place, branch, approvers)
        head = head_of(state.repo, git)
        tip = state.objects.tip(run_branch(run.id))
        if tip is None:
            return _gone(scene, run, head, way)
        refuse_unready(run, tip)
        rows = list(log(git, Range(tip, (run.base,))))
        refuse_unproved(run, rows, list(proofs_of(git, rows, approvers)))
        there = _there(scene, run, rows, head)
        if there:
            _logged(state, run, there, branch, way)
            return Landed(_recorded(state, run, there), there, branch, way, True)
        with patch_ids(git) as ids:
            vouch = _voucher(scene, run)
            parents = (head, tip) if way == "merge" else ()
            renew = renewer(
                RunDesk(state, run), git, head, ask, lambda old, new: vouch(old, new, ids.of(old, new), parents)
            )
            plan = planned(git, ids, run, rows, head, way, vouch, renew)
        left = tuple(_left_alone(scene, plan, way))
        git.keep(plan.result)
        checks = checks_of(state)
        for argv in checks:
            refuse_ruled_check(RunDesk(state, run), argv, ask)
        for argv in checks:
            with told(state, run, plan.result, argv):
                check(git, plan.result, argv)
        with noted_landing(state.repo, LandingNote(run=run.id, head=plan.head, target=plan.target, result=plan.result)):
            commit = _merged(scene, run, plan, len(rows)) if way == "merge" else _moved(scene, run, plan)
    _logged(state, run, commit, branch, way)
    words = tuple(" ".join(argv) for argv in checks)
    return Landed(_recorded(state, run, commit), commit, branch, way, False, words, left)


def _checkout(repo: Repo) -> tuple[Path, str]:
    """Return where to land, and on which branch. Raises: Failed."""
    if repo.worktree is None:
        raise Failed("a bare repository has no checkout to land in", hint="land from a clone or a worktree")
    if any(one.is_run and one.git_dir.resolve() == repo.git_dir.resolve() for one in worktrees(repo)):
        raise Failed("this is the worktree of a run", hint="land from your own checkout")
    branch = branch_of(repo)
    if not branch:
        raise Failed("no branch is checked out here", hint="git switch to the branch that it shall land on")
    if branch.startswith("refs/heads/nexus/"):
        raise Failed(f"{branch.removeprefix('refs/heads/')} is the branch of a run", hint="git switch to your own")
    busy = users.under_way(repo)
    if busy is not None:
        raise Failed(f"{busy} is under way in this checkout", hint="finish it first, or abort it; git status tells how")
    return repo.worktree, branch


def _gone(scene: _Scene, run: Run, head: str, way: Way) -> Landed:
    if run.status == "landed" and run.landed and is_ancestor(scene.git, run.landed, head):
        return Landed(run, run.landed, scene.branch, way, True)
    raise NotFound(
        f"the branch {run.branch} is gone",
        hint=f"if git nexus clean parked it: git branch {run.branch} refs/nexus/rescue/{run.id}",
    )


def _there(scene: _Scene, run: Run, rows: list[CommitRow], head: str) -> str:
    """Return the commit by which the run is on this branch already: a kill after the deed, or a second call."""
    if is_ancestor(scene.git, rows[-1].id, head):
        recorded = run.landed if run.landed and is_ancestor(scene.git, run.landed, head) else ""
        return recorded or _merge_of(scene.git, rows[-1].id, head)
    start = merge_base(scene.git, run.base, head)
    ours = list(log(scene.git, Range(head, (start,) if start else ())))
    return landed_at(run, ours, list(proofs_of(scene.git, ours, scene.approvers)), approvals_of(rows))


def _merge_of(git: PrivateGit, tip: str, head: str) -> str:
    """Return the first merge on the way from `tip` to `head`, else `tip` itself: the branch was moved on to it."""
    first = next((row for row in log(git, Range(head, (tip,))) if tip in row.parents[1:]), None)
    return first.id if first is not None else tip


def _voucher(scene: _Scene, run: Run) -> Callable[..., str]:
    def vouch(base: str, result: str, patch: str, parents: tuple[str, ...] = ()) -> str:
        signer = signer_of(scene.repo)
        try:
            scene.approvers.public_of(signer.key_id)
        except VerificationFailed as exc:
            raise ApprovalNeeded(
                f"landing {run.id} like this on a base that moved needs an approver's signature, and {exc.message}",
                hint="an approver can land it, or land it with --merge or --rebase",
            ) from exc
        moment, ledger = now(), Ledger(scene.repo.common_dir)
        said = "\0".join((ACTION, run.id, base, result, patch)).encode()
        request = merge_request(run.id, parents, result) if parents else f"sha256:{hashlib.sha256(said).hexdigest()}"
        expected = Expected(project=scene.approvers.project, run=run.id, action=ACTION, kind="patch",
                            request=request, mode="default", base=base, result=result,
                            patch_id=patch)  # fmt: skip
        claims = approved(expected, scope="once", ledger=ledger.begin(moment), approver=signer.key_id, now=moment,
                          lasts=timedelta(minutes=5))  # fmt: skip
        claims = claims.changed(seen=statement_of(pinned(scene.repo.common_dir), GUARDED))
        token = issue(claims, signer)
        ledger.spend(claims, moment)  # it proves what was done here, and opens no door
        return token

    return vouch


def _left_alone(scene: _Scene, plan: Plan, way: Way) -> list[str]:
    """Return what is uncommitted and not in the way. Raises: Conflict, if the landing would write such a file."""
    changed, staged = users.uncommitted(scene.place)
    rows = difference(scene.git, tree_of(scene.git, plan.head), plan.result)
    touched = {row.path for row in rows}
    made = [row.path for row in rows if not row.old_mode]
    found = (changed & touched) | {path for path in made if _is_taken(scene.place, path, touched)}
    found |= staged if way == "merge" else set()  # git merges only into an index that is as HEAD
    if found:
        named = sorted(found)[:_MOST_NAMED]
        more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        raise Conflict(
            f"uncommitted work is in the way: {', '.join(named)}{more}",
            hint="commit it or put it away (git stash -u), then land again; nothing was touched",
            context={"paths": sorted(found)},
        )
    return sorted(changed | staged)


def _is_taken(place: Path, path: str, touched: set[str]) -> bool:
    """True if something lies at `path`, ignored or not, or a file where it needs a folder."""
    if os.path.lexists(place / path):
        return not (place / path).is_dir() or (place / path).is_symlink() or any((place / path).iterdir())
    above = [Path(path).parents[at].as_posix() for at in range(len(Path(path).parents) - 1)]
    return any((place / one).is_symlink() or (place / one).is_file() for one in above if one not in touched)


def _merged(scene: _Scene, run: Run, plan: Plan, count: int) -> str:
    done = users.run(scene.place, "merge", "--no-ff", "--quiet", "--no-stat", "-m",
                     plan.message or merge_message(run, count), plan.target)  # fmt: skip
    if done.returncode != 0:
        if users.under_way(scene.repo) == "a merge" and users.run(scene.place, "merge", "--abort").returncode != 0:
            raise Conflict(
                f"git did not merge {run.branch}, and the half could not be taken back: {reason(done.stderr)}",
                hint=f"do not commit it: git nexus land {run.id} takes it back first",
            )
        raise Conflict(f"git did not merge {run.branch}: {reason(done.stderr or done.stdout)}",
                       hint="nothing was changed; a hook of yours may have refused it")  # fmt: skip
    return _as_planned(scene, run, plan)


def _moved(scene: _Scene, run: Run, plan: Plan) -> str:
    """Make the commits, prove them while no branch has them, then let the user's git move on to them in one step."""
    target = plan.target
    if plan.written:
        target = plan.head
        for one in plan.written:
            scene.git.keep(one.tree)
            target = users.committed(scene.place, one.tree, target, one.message, one.author)
        rows = log(scene.git, Range(target, (plan.head,)))
        for proof in proofs_of(scene.git, rows, scene.approvers, (plan.head,)):
            if proof.status != "approved":
                raise VerificationFailed(f"{run.id} would not be verifiable any more: {proof.reason}",
                                         hint="land it with --merge")  # fmt: skip
    done = users.run(scene.place, "merge", "--ff-only", "--quiet", "--no-stat", target)
    if done.returncode != 0:
        raise Conflict(f"git did not take {run.id} in: {reason(done.stderr or done.stdout)}",
                       hint="nothing was changed; try again")  # fmt: skip
    return _as_planned(scene, run, plan)


def _as_planned(scene: _Scene, run: Run, plan: Plan) -> str:
    """Return the commit that HEAD is at now, if it is what was planned. Raises: VerificationFailed."""
    with private(scene.repo) as git:  # a new one: HEAD is not where it was
        commit = head_of(scene.repo, git)
        if tree_of(git, commit) == plan.result:
            return commit
        made = next(iter(log(git, Range(commit), most=1)))
    words = "it is on your branch, and was not taken back"
    # Back to what our merge stood on, which may be a commit that somebody made just now. What is uncommitted is kept,
    # or git does nothing; the merge stays in the reflog.
    ours = made.parents[1:] == (plan.target,)
    if ours and users.run(scene.place, "reset", "--keep", "--quiet", made.parents[0]).returncode == 0:
        words = "your branch is where it was"
    raise VerificationFailed(
        f"{commit[:12]}, which git made of it, holds something else than was approved for {run.id}",
        hint=f"a merge driver or a hook of yours, or a commit made meanwhile, changed it; {words}",
    )


def _logged(state: State, run: Run, commit: str, branch: str, way: Way) -> None:
    """Write the landing down, once, where the log of the run is at hand; it does not depend on that."""
    desk = RunDesk(state, run)
    with contextlib.suppress(NexusError):
        if desk.log.path.exists() and not desk.view().landed:
            into = short(branch.removeprefix("refs/heads/"), LONGEST_NAME)
            desk.log.append("run.landed", "user", {"commit": commit, "into": into, "how": way})
            desk.checkpointed()


def _recorded(state: State, run: Run, commit: str) -> Run:
    def change(before: Run) -> Run:
        if before.status == "landed" and before.landed == commit:
            return before
        return before.changed(status="landed", landed=commit, ended=before.ended or stamp(now()))

    return store.changed(state, run.id, change, f"runs: land {run.id}")
