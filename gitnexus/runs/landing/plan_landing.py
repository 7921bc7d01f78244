"""Decides how a run lands: which commits and trees, or why not. Writes objects in a private git only; moves no ref."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from gitnexus.base.errors import Conflict, Failed, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.commits import CommitRow, read_commit, tree_of_commit
from gitnexus.git.merging import clean_merge, replay_change
from gitnexus.git.patchid import PatchIds
from gitnexus.git.private import PrivateGit
from gitnexus.policy.commit_message import Trailers, first_line, format_commit_message, format_landing_message
from gitnexus.policy.commit_message import parse_trailers as trailers_of
from gitnexus.runs.landing.verify_commit import Proof
from gitnexus.runs.model import Run

Way = Literal["merge", "rebase", "squash"]
ACTION = "land"
# Signs that the patch between two trees is what was approved. Raises: ApprovalNeeded.
Vouch = Callable[[str, str, str], str]
# Shows a person the new result and why it differs from the approved one; signs it if approved. Raises: NexusError.
Renew = Callable[[str, str, str], str]


class Outdated(Conflict):
    """Raised when the result would differ from what was approved."""


class PlannedCommit(NamedTuple):
    """A commit to create on top of the one before it."""

    tree: str
    message: str
    author: dict[str, str]


class LandingPlan(NamedTuple):
    """How a run lands on `head`: by a merge of or fast-forward to `target`, or by the commits `written` first.

    `message` is the merge message, if the merge carries its own approval.
    """

    head: str
    result: str
    target: str
    written: tuple[PlannedCommit, ...] = ()
    message: str = ""


def refuse_unfinished_run(run: Run, tip: str) -> None:
    """Raise an error unless the run has completed and its branch is at its last commit. Raises: Failed, …."""
    if run.status in ("waiting", "blocked"):
        raise Failed(
            f"{run.id} waits for an approval",
            hint=f"git nexus review {run.id} shows what waits",
            fix=f"git nexus review {run.id}",
        )
    if run.status == "running":
        raise Failed(
            f"{run.id} has not ended",
            hint=f"git nexus review {run.id} shows whether it waits; git nexus resume {run.id} continues it",
            fix=f"git nexus review {run.id}",
        )
    if run.status in ("failed", "cancelled"):
        raise Failed(
            f"{run.id} is {run.status}, so it does not land as a whole",
            hint=f"what was approved is on {run.branch}: merge or cherry-pick that yourself",
        )
    if run.head and tip != run.head:
        raise VerificationFailed(
            f"{run.branch} is not where the run left it: {tip[:12]} instead of {run.head[:12]}",
            hint=f"somebody moved it; git reflog {run.branch} shows when",
        )


def refuse_unapproved_branch(run: Run, rows: Sequence[CommitRow], proofs: Sequence[Proof]) -> None:
    """Raise an error unless the branch is exactly a line of this run's approved commits."""
    if not rows:
        raise Failed(f"{run.id} changed nothing, there is nothing to land")
    before = run.base
    for row, proof in zip(rows, proofs, strict=True):
        if row.parents != (before,):
            raise VerificationFailed(f"{run.branch} is not a straight line from the start of the run ({row.id[:12]})")
        if proof.status != "approved":
            raise VerificationFailed(
                f"{row.id[:12]} on {run.branch} is {proof.status}: {proof.reason}",
                hint=f"git nexus verify {run.base[:12]}..{run.branch}",
                fix=f"git nexus verify {run.base[:12]}..{run.branch}",
            )
        if proof.run != run.id:
            raise VerificationFailed(f"{row.id[:12]} on {run.branch} was approved for another run, {proof.run}")
        before = row.id


def plan_landing(
    git: PrivateGit,
    ids: PatchIds,
    run: Run,
    rows: Sequence[CommitRow],
    head: str,
    way: Way,
    vouch: Vouch,
    renew: Renew | None = None,
) -> LandingPlan:
    """Return how verified commits land on `head` in the given way. Raises: Conflict, ApprovalNeeded."""
    try:
        return _plan_approved(git, ids, run, rows, head, way, vouch)
    except Outdated as exc:
        onto = tree_of_commit(git, head)
        result = clean_merge(git, head, rows[-1].id) if is_ancestor(git, run.base, head) else None
        if result in (None, onto):
            raise
        if renew is None or way == "rebase":
            where = "with --merge or --squash at a terminal" if way == "rebase" else "at a terminal"
            exc.hint = f"landed {where} it shows what it would be now, and asks; or run it again from your branch"
            raise
        return _plan_reapproved(git, run, rows, head, way, result, renew(onto, result, exc.message))


def _plan_reapproved(
    git: PrivateGit, run: Run, rows: Sequence[CommitRow], head: str, way: Way, result: str, token: str
) -> LandingPlan:
    """Return the plan to land the result of a merge that has its own approval."""
    found, tip = _gathered_trailers(run, rows), rows[-1].id
    if way == "merge":
        subject, _, body = merge_message(run, len(rows)).partition("\n\n")
        said = f"{body.strip()}\nThe base had moved; the new result was approved again."
        text = format_commit_message(subject, said, found._replace(actions=(ACTION,), approvals=(token,)))
        return LandingPlan(head, result, tip, message=text)
    found = found._replace(actions=(*found.actions, ACTION), approvals=(*found.approvals, token))
    text = format_landing_message(run.title, [row.message for row in rows], found)
    return LandingPlan(head, result, "", (PlannedCommit(result, text, author_environment(read_commit(git, tip))),))


def _plan_approved(
    git: PrivateGit, ids: PatchIds, run: Run, rows: Sequence[CommitRow], head: str, way: Way, vouch: Vouch
) -> LandingPlan:
    tip, onto = rows[-1].id, tree_of_commit(git, head)
    if head == run.base and (way == "rebase" or (way == "squash" and len(rows) == 1)):
        return LandingPlan(head, rows[-1].tree, tip)
    if way == "merge":
        return LandingPlan(head, _merged_tree(git, ids, run, rows, head, onto), tip)
    if way == "rebase":
        written = []
        for row in rows:
            onto = _replayed_tree(git, ids, run, onto, row.parent_trees[0], row.tree)
            written.append(PlannedCommit(onto, row.message, author_environment(read_commit(git, row.id))))
        return LandingPlan(head, onto, "", tuple(written))
    before = rows[0].parent_trees[0]
    result = _replayed_tree(git, ids, run, onto, before, rows[-1].tree)
    found = _gathered_trailers(run, rows)
    if len(rows) > 1 and onto != before:
        token = vouch(onto, result, ids.of(onto, result))
        found = found._replace(actions=(*found.actions, ACTION), approvals=(*found.approvals, token))
    text = (
        rows[0].message if len(rows) == 1 else format_landing_message(run.title, [row.message for row in rows], found)
    )
    return LandingPlan(head, result, "", (PlannedCommit(result, text, author_environment(read_commit(git, tip))),))


def last_landed_commit(run: Run, rows: Sequence[CommitRow], proofs: Sequence[Proof], wanted: Sequence[str]) -> str:
    """Return the last of the commits that together carry all approvals of a run, "" if some are missing.

    The message of a merge counts for nothing: the commits that it joins are examined themselves.
    """
    found: set[str] = set()
    last = ""
    for row, proof in zip(rows, proofs, strict=True):
        said = trailers_of(row.message)
        is_merge = len(row.parents) > 1
        if said is not None and said.run == run.id and proof.status == "approved" and not is_merge:
            found.update(said.approvals)
            last = row.id
    return last if wanted and found.issuperset(wanted) else ""


def approval_tokens(rows: Sequence[CommitRow]) -> list[str]:
    """Return the tokens in the commits' trailers, in order."""
    found = (trailers_of(row.message) for row in rows)
    return [token for said in found if said is not None for token in said.approvals]


def author_environment(raw: bytes) -> dict[str, str]:
    """Return the author of a raw commit as git's environment variables."""
    line = next(line for line in raw.split(b"\n") if line.startswith(b"author "))
    person, _, when = line.removeprefix(b"author ").decode("utf-8", "replace").rpartition("> ")
    name, _, email = person.partition(" <")
    return {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": f"@{when}"}


def _merged_tree(git: PrivateGit, ids: PatchIds, run: Run, rows: Sequence[CommitRow], head: str, onto: str) -> str:
    if not is_ancestor(git, run.base, head):
        raise Conflict(
            f"this branch does not have the commit that {run.id} began at, and a merge would bring more than the run",
            hint="land it on the branch that it began on, or land it with --rebase or --squash",
        )
    before = rows[0].parent_trees[0]
    fits = _replayed_tree(git, ids, run, onto, before, rows[-1].tree)
    found = clean_merge(git, head, rows[-1].id)
    if found is not None and found != fits:
        raise _outdated_error(run, "a merge would differ from what was approved")
    return fits


def _replayed_tree(git: PrivateGit, ids: PatchIds, run: Run, onto: str, old: str, new: str) -> str:
    """Return the tree of a change applied onto another tree, if it is still the approved change."""
    try:
        result = replay_change(git, onto, old, new)
    except Conflict as exc:
        raise _outdated_error(run, exc.message) from exc
    if ids.of(onto, result) != ids.of(old, new):
        raise _outdated_error(run, "on the present base it would be a different change from the approved one")
    return result


def _outdated_error(run: Run, words: str) -> Outdated:
    return Outdated(
        f"{run.id} needs a new approval, since its base moved: {one_line(words, 300)}",
        hint="run it again from where your branch is now, and approve that",
        context={"run": run.id},
    )


def _gathered_trailers(run: Run, rows: Sequence[CommitRow]) -> Trailers:
    found = [said for said in (trailers_of(row.message) for row in rows) if said is not None]
    actions = tuple(dict.fromkeys(action for said in found for action in said.actions))
    return Trailers(run.id, actions, found[-1].agent, tuple(token for said in found for token in said.approvals))


def merge_message(run: Run, count: int) -> str:
    """Return the message of the merge commit: the run, and how to inspect it."""
    subject = f"Merge run {run.id}: {first_line(run.title)}"
    noun = "commit" if count == 1 else "commits"
    body = f"{count} approved {noun} of {one_line(run.agent, 60)}; git nexus verify proves it."
    return f"{one_line(subject, 100)}\n\n{body}\n"
